"""The accounts that each kind of transfer debits and credits, to check the books by."""

from billing.models import Transfer

# kind → (account debited, account credited); `outside` is everything beyond our books.
ACCOUNTS: dict[Transfer.Kind, tuple[str, str]] = {
    Transfer.Kind.TOP_UP: ("outside", "available"),
    Transfer.Kind.GRANT: ("outside", "available"),
    Transfer.Kind.WITHDRAW: ("available", "outside"),
    Transfer.Kind.HOLD: ("available", "held"),
    Transfer.Kind.CAPTURE: ("held", "spent"),
    Transfer.Kind.RELEASE: ("held", "available"),
}
