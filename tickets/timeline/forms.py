"""The forms of comments. How a form shows what a service refuses is in `tickets.forms`."""

from django import forms

from sequences.storage import new_token
from tickets import validators
from tickets.forms import COMPARISON, MarkdownInput, ServiceForm, VersionedForm


class CommentForm(ServiceForm):
    """A new comment."""

    validated_by = validators.COMMENT
    text = forms.CharField(required=False, label="Comment", widget=MarkdownInput(3, required=True))
    token = forms.CharField(required=False, widget=forms.HiddenInput, initial=new_token)


class CommentChangeForm(VersionedForm):
    """A change of a comment, based on the version that was read."""

    validated_by = validators.COMMENT
    current_template = COMPARISON
    text = forms.CharField(required=False, label="Comment", widget=MarkdownInput(8, required=True))
