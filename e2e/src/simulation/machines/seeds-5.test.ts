import { playShard } from './shards.ts';

playShard(5);
