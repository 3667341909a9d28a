package rng

var goldenKeys = []uint64{
	0x95c29668b0745825, 0xaf9bce405e5fcd7c, 0x9cf0686da43c464b, 0x1261bd4377666ed4, 0x77e799fcd664784e,
}

var goldenStream = []uint64{
	0x9cf0686da43c464b, 0xeec125684903fb34, 0x114210bd57e192b2, 0xb101d052ec659e05,
}
