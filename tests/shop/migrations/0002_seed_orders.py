from django.db import migrations

from sequences.operations import SeedSequence


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]

    operations = [
        SeedSequence("orders", "Order", "number"),
        SeedSequence("deliveries", "Delivery", "number", scope="order"),
    ]
