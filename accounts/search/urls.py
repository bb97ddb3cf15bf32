from django.urls import path

from accounts.search import views

urlpatterns = [
    path("search", views.search, name="search"),
    path("search/suggestions", views.search_suggestions, name="search-suggestions"),
]
