import uuid

from django.db import migrations, models

# Partitioned by month, so that what is old goes away with its table. `links.clicks.partitions` makes and
# drops the months; no row is ever looked up by a key of its own.
CLICKS = """
CREATE TABLE links_click (
  link_id uuid NOT NULL,
  at timestamp with time zone NOT NULL,
  kind varchar(8) NOT NULL,
  referrer varchar(100) NOT NULL,
  device varchar(8) NOT NULL,
  country varchar(2) NOT NULL
) PARTITION BY RANGE (at);
CREATE INDEX links_click_of_link ON links_click (link_id, at);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('links', '0002_clicked'),
    ]

    operations = [
        migrations.RunSQL(CLICKS, "DROP TABLE links_click"),
        migrations.AddField(
            model_name='link',
            name='clicks',
            field=models.PositiveBigIntegerField(db_default=0, default=0, verbose_name='clicks'),
        ),
        migrations.AddField(
            model_name='link',
            name='previews',
            field=models.PositiveBigIntegerField(db_default=0, default=0, verbose_name='previews'),
        ),
        migrations.AddField(
            model_name='link',
            name='scanners',
            field=models.PositiveBigIntegerField(db_default=0, default=0, verbose_name='scanners'),
        ),
        migrations.AddField(
            model_name='link',
            name='first_click_at',
            field=models.DateTimeField(null=True, verbose_name='first click'),
        ),
        migrations.AddField(
            model_name='link',
            name='last_click_at',
            field=models.DateTimeField(null=True, verbose_name='last click'),
        ),
        migrations.CreateModel(
            name='ClickBatch',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ('counted_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='ClickDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('clicks', models.PositiveIntegerField(default=0)),
                ('previews', models.PositiveIntegerField(default=0)),
                ('scanners', models.PositiveIntegerField(default=0)),
                ('link', models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name='days', to='links.link')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('link', 'day'), name='click_day_once')],
            },
        ),
    ]
