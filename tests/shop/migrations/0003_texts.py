from django.db import migrations, models

import sequences.fields


class Migration(migrations.Migration):
    dependencies = [("shop", "0002_seed_orders")]

    operations = [
        migrations.CreateModel(
            name="Bill",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("customer", models.CharField(max_length=100)),
                ("issued_on", models.DateField(null=True)),
                ("number", sequences.fields.SequenceField(assign="manual", date="issued_on", sequence="bills")),
                ("number_text", sequences.fields.SequenceTextField(max_length=255, of="number", unique=True)),
            ],
        ),
        migrations.CreateModel(
            name="Contract",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("signed_on", models.DateField()),
                ("number", sequences.fields.SequenceField(date="signed_on", sequence="contracts")),
                ("number_text", sequences.fields.SequenceTextField(max_length=255, of="number", unique=True)),
            ],
        ),
        migrations.CreateModel(
            name="Statement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                ("text", sequences.fields.SequenceTextField(max_length=255, of="number", unique=True)),
                ("number", sequences.fields.SequenceField(on_commit=True, sequence="bills")),
            ],
        ),
    ]
