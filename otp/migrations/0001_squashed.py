"""Verifications and texts, and the function that judges a code.

A function, because only its inner statements see what was committed while it waited for the lock:
one plain statement counts with the snapshot it began with.
"""

import config.ids
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

# How many more wrong codes a phone may have judged at one company, whatever the purpose; `latest` is
# when one was judged last. Past the cap there is one an hour, and one after each right code, so that
# strangers who guess cannot keep the phone's owner out.
GUESS_CAP = """
CREATE FUNCTION otp_guess_cap(
  of_company bigint, of_mode text, of_phone text, hourly int, daily int)
RETURNS TABLE (guesses int, latest timestamptz)
LANGUAGE sql STABLE ROWS 1 AS $$
SELECT GREATEST(LEAST(hourly - hour, daily - day)::int,
                (wrong_at <= right_at OR wrong_at <= now() - interval '1 hour')::int),
       latest
FROM (
  SELECT COALESCE(sum(wrong) FILTER (WHERE judged_at > now() - interval '1 hour'), 0) AS hour,
         COALESCE(sum(wrong), 0) AS day,
         COALESCE(max(judged_at) FILTER (WHERE verified_at IS NULL), '-infinity') AS wrong_at,
         COALESCE(max(verified_at), '-infinity') AS right_at,
         COALESCE(max(judged_at), '-infinity') AS latest
  FROM (SELECT judged_at, verified_at, attempts - (verified_at IS NOT NULL)::int AS wrong
        FROM otp_verification
        WHERE company_id = of_company AND mode = of_mode AND phone = of_phone
          AND judged_at > now() - interval '24 hours') AS lately) AS counted
$$"""

# Spends an attempt and, if the code is right, consumes it. Guesses at one phone take turns at the
# lock; the cap is counted after it is held, and so with every guess before. Their times keep the
# order of their turns, which their beginnings need not.
JUDGE = """
CREATE FUNCTION otp_judge(
  of_company bigint, of_mode text, of_phone text, of_purpose text, macs bytea[],
  hourly int, daily int,
  OUT judged_id uuid, OUT right_at timestamptz, OUT attempts_left int)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(
    hashtextextended('guess:' || of_company || ':' || of_mode || ':' || of_phone, 0));
  UPDATE otp_verification AS v SET attempts = v.attempts + 1, judged_at = cap.turn,
    verified_at = CASE WHEN v.mac = ANY(macs) THEN cap.turn END
  FROM (SELECT guesses, GREATEST(now(), latest + interval '1 microsecond') AS turn
        FROM otp_guess_cap(of_company, of_mode, of_phone, hourly, daily)) AS cap
  WHERE v.company_id = of_company AND v.mode = of_mode AND v.phone = of_phone
    AND v.purpose = of_purpose AND v.superseded_at IS NULL
    AND v.verified_at IS NULL AND v.expires_at > now() AND v.attempts < v.max_attempts
    AND cap.guesses > 0
  RETURNING v.id, v.verified_at, LEAST(v.max_attempts - v.attempts, cap.guesses - 1)
  INTO judged_id, right_at, attempts_left;
END $$"""

REMOVE = """
DROP FUNCTION otp_judge(bigint, text, text, text, bytea[], int, int);
DROP FUNCTION otp_guess_cap(bigint, text, text, int, int);
"""


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('otp', '0001_initial'),
        ('otp', '0002_texts'),
        ('otp', '0003_over_early'),
        ('otp', '0004_guess_cap'),
        ('otp', '0005_field_labels'),
        ('otp', '0006_learn_budgets'),
    ]

    dependencies = [
        ('accounts', '0001_squashed'),
    ]

    operations = [
        migrations.CreateModel(
            name='Autofill',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('webotp_host', models.CharField(blank=True, max_length=253, verbose_name='site')),
                ('app_hash', models.CharField(blank=True, max_length=11, verbose_name='Android app')),
                ('company', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='autofill', to='accounts.company')),
            ],
            options={
                'verbose_name': 'autofill',
                'verbose_name_plural': 'autofill',
            },
        ),
        migrations.CreateModel(
            name='CodeText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('purpose', models.CharField(blank=True, max_length=64, verbose_name='purpose')),
                ('channel', models.CharField(blank=True, choices=[('telegram', 'Telegram'), ('sms', 'SMS')], max_length=10, verbose_name='channel')),
                ('locale', models.CharField(choices=[('ru', 'Русский'), ('en', 'English')], max_length=2, verbose_name='language')),
                ('body', models.CharField(max_length=500, verbose_name='text')),
                ('changed_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('company', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='code_texts', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'text of codes',
                'verbose_name_plural': 'texts of codes',
                'constraints': [models.UniqueConstraint(fields=('company', 'purpose', 'channel', 'locale'), name='code_text_once')],
            },
        ),
        migrations.CreateModel(
            name='Verification',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('mode', models.CharField(choices=[('live', 'live'), ('test', 'test')], max_length=4, verbose_name='mode')),
                ('phone', models.CharField(max_length=16, verbose_name='phone')),
                ('purpose', models.CharField(max_length=64, verbose_name='purpose')),
                ('mac', models.BinaryField(max_length=32)),
                ('key_id', models.CharField(max_length=16, verbose_name='key')),
                ('length', models.PositiveSmallIntegerField(verbose_name='code length')),
                ('attempts', models.PositiveSmallIntegerField(db_default=0, default=0, verbose_name='attempts')),
                ('max_attempts', models.PositiveSmallIntegerField(verbose_name='attempts allowed')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='created')),
                ('expires_at', models.DateTimeField(verbose_name='expires')),
                ('judged_at', models.DateTimeField(null=True, verbose_name='last attempt')),
                ('verified_at', models.DateTimeField(null=True, verbose_name='verified')),
                ('superseded_at', models.DateTimeField(null=True, verbose_name='superseded')),
                ('settled_at', models.DateTimeField(null=True, verbose_name='processed')),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='verifications', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'verification',
                'verbose_name_plural': 'verifications',
                'indexes': [models.Index(condition=models.Q(('settled_at__isnull', True), ('verified_at__isnull', False)), fields=['verified_at'], name='verification_unsettled'), models.Index(condition=models.Q(('settled_at__isnull', True), ('verified_at__isnull', True), models.Q(('superseded_at__isnull', False), ('attempts__gte', models.F('max_attempts')), _connector='OR')), fields=['expires_at'], name='verification_over_early'), models.Index(condition=models.Q(('judged_at__isnull', False)), fields=['company', 'phone', 'judged_at'], name='verification_failures'), models.Index(condition=models.Q(('phone__endswith', '*'), _negated=True), fields=['created_at'], name='verification_with_phone')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('superseded_at__isnull', True)), fields=('company', 'mode', 'phone', 'purpose'), name='verification_one_live'), models.CheckConstraint(condition=models.Q(('attempts__lte', models.F('max_attempts'))), name='verification_attempts')],
            },
        ),
        migrations.RunSQL([GUESS_CAP, JUDGE], REMOVE),
    ]
