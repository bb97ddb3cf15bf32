"""What a load balancer asks of a process: is it alive, is it ready."""
