// 3:38: 'x' is a private member of 'Secret'
class Secret { float x; };
kernel void k(device Secret* s) { s->x = 1; }
