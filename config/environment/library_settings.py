"""Long settings of libraries: allauth, password validation, templates."""

from typing import Any

# Each limit is number/period/key; accounts/sign_in/adapter.py explains the keys.
RATE_LIMITS = {
    "login_failed": "10/m/ip,5/5m/key",  # key: account and network
    "login_account": "100/h/key",  # per account, from browsers that never signed in to it
    "login_device": "20/h/key",  # per account, from a browser that has signed in to it
    "manage_email": "10/m/user,30/d/user",  # each new address gets an e-mail, even a stranger's
    "reauthenticate": "10/m/user,500/d/user",  # the audit log keeps each forever
    "signup": "20/m/ip,100/d/ip",  # each gets a test key
    "passkey": "60/m/ip",  # challenges for sign-ins with a passkey
    "sso": "60/m/ip",  # starts and ends of sign-ins by the identity provider
    "invitation": "60/m/ip",  # invitations opened
    # Key: address. Each of the ten e-mails opens the account; unknown addresses get one too.
    "reset_password": "20/m/ip,100/d/ip,10/h/key",
    "confirm_email": "1/3m/key,10/d/key",  # anybody may sign up with a stranger's address
}
_DJANGO = "django.contrib.auth.password_validation"
PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": f"{_DJANGO}.UserAttributeSimilarityValidator"},
    {"NAME": f"{_DJANGO}.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": f"{_DJANGO}.CommonPasswordValidator"},
    {"NAME": "accounts.sign_in.passwords.GuessablePasswordValidator"},
]
_FORMS = "accounts.sign_in.password_forms"
PASSWORD_FORMS = {
    "login": f"{_FORMS}.LoginForm",
    "reauthenticate": f"{_FORMS}.ReauthenticateForm",
    "change_password": f"{_FORMS}.ChangePasswordForm",
    "set_password": f"{_FORMS}.SetPasswordForm",
    "reset_password_from_key": f"{_FORMS}.ResetPasswordKeyForm",
}
_FACTORS = "accounts.sign_in.factor_forms"
FACTOR_FORMS = {
    "activate_totp": f"{_FACTORS}.ActivateTOTPForm",
    "authenticate": f"{_FACTORS}.AuthenticateForm",
    "reauthenticate": f"{_FACTORS}.ReauthenticateForm",
    "reauthenticate_webauthn": f"{_FACTORS}.ReauthenticateWebAuthnForm",
    "login_webauthn": f"{_FACTORS}.LoginWebAuthnForm",
    "authenticate_webauthn": f"{_FACTORS}.AuthenticateWebAuthnForm",
    "add_webauthn": f"{_FACTORS}.AddWebAuthnForm",
    "edit_webauthn": f"{_FACTORS}.EditWebAuthnForm",
}

PAGES: dict[str, list[str]] = {
    "context_processors": [
        "django.template.context_processors.request",
        "django.template.context_processors.i18n",
        "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
        "cabinet.context_processors.cabinet",
    ],
    "builtins": [  # for most templates; others load their libraries
        "django.templatetags.i18n",
        "django.templatetags.static",
        "django.contrib.humanize.templatetags.humanize",
        "cabinet.templatetags.cabinet",
        "cabinet.templatetags.components",
    ],
}
ARTICLES: dict[str, Any] = {
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "NAME": "articles",
    "OPTIONS": {
        "autoescape": False,  # Markdown is escaped when it becomes HTML
        "builtins": [
            "api_docs.templatetags.api_docs",
            "django.templatetags.i18n",
            "django.templatetags.static",
        ],
    },
}
