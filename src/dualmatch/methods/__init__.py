"""The methods: each takes two graphs and gives pairs with a confidence."""
