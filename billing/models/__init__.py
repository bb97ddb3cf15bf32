"""Wallets, transfers, prices, orders, payments, documents, requisites and budgets."""

from billing.models.archived_month import ArchivedMonth, ArchivedSum
from billing.models.auto_top_up import AutomaticOrder, AutoTopUp, MethodSaving, SavedMethod
from billing.models.balance_alert import BalanceAlert
from billing.models.bank_transfer import BankTransfer, StatementMark
from billing.models.budget import Budget, SpentDay
from billing.models.document import ClosedMonth, Document, DocumentCounter, Lot
from billing.models.offer import Package, Tariff
from billing.models.order import InvoiceCounter, Order, Payment
from billing.models.party import BillingProfile, Seller
from billing.models.reconciliation_run import ReconciliationRun
from billing.models.refund import Refund
from billing.models.running_balance import RunningBalance
from billing.models.seal import Seal, SealedDay
from billing.models.sms_price import SmsPrice
from billing.models.vat_regime import VatRegime
from billing.models.wallet import Transfer, Wallet

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
    "RunningBalance",
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
