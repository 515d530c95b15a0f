export {
  BOOTSTRAP_KUBECONFIG_PATH,
  type BootInput,
  bootConfigName,
  bootIgnition,
  CONTENT_PATH,
  ENCAPSULATED_PATH,
  NODE_ANNOTATIONS_PATH,
} from './boot-config.ts';
export { type ConfigEndpointOptions, createConfigEndpoint } from './endpoint.ts';
export type { RateLimit } from './limiter.ts';
export { createTokenCaches, referencesOf, type TokenCaches } from './machines.ts';
export { type PointerOptions, pointerConfig } from './pointer.ts';
export { versionFor } from './version.ts';
