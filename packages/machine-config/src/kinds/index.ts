export * from './container-runtime-config.ts';
export * from './controller-config.ts';
export * from './kubelet-config.ts';
export * from './machine-config.ts';
export * from './machine-config-pool.ts';
export type { ConfigCondition, ObjectReference } from './shared.ts';
