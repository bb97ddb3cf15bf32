"""Tables partitioned by month: conversion, creation and removal of partitions, pruned queries."""
