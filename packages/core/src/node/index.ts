export { isNodeOf, sameInstance } from './instance.ts';
export { type NodePatch, planNodeSync } from './sync.ts';
