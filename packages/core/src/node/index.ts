export { isNodeOf, sameInstance } from './instance.ts';
export { type NodePatch, planNodeSync, warnedDrift } from './sync.ts';
