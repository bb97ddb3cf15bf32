"""Wallets, transfers, prices, orders, payments, documents, billing details and budgets."""

from billing.models.auto_top_up import AutomaticOrder, AutoTopUp, MethodSaving, SavedMethod
from billing.models.bank_transfer import BankTransfer, StatementMark
from billing.models.document import ClosedMonth, Document, DocumentCounter, InvoiceCounter, Lot
from billing.models.offer import Package, SmsPrice, Tariff
from billing.models.order import Order, Payment, Refund
from billing.models.party import BillingProfile, Seller, VatRegime
from billing.models.seal import ReconciliationRun, Seal, SealedDay
from billing.models.wallet import (
    ArchivedMonth,
    ArchivedSum,
    BalanceAlert,
    Budget,
    SpentDay,
    Transfer,
    Wallet,
)

__all__ = [
    "ArchivedMonth",
    "ArchivedSum",
    "AutoTopUp",
    "AutomaticOrder",
    "BalanceAlert",
    "BankTransfer",
    "BillingProfile",
    "Budget",
    "ClosedMonth",
    "Document",
    "DocumentCounter",
    "InvoiceCounter",
    "Lot",
    "MethodSaving",
    "Order",
    "Package",
    "Payment",
    "ReconciliationRun",
    "Refund",
    "SavedMethod",
    "Seal",
    "SealedDay",
    "Seller",
    "SmsPrice",
    "SpentDay",
    "StatementMark",
    "Tariff",
    "Transfer",
    "VatRegime",
    "Wallet",
]
