import { z } from 'zod';
import { parseDuration } from '../duration.ts';

const duration = z
  .string()
  .refine((text) => parseDuration(text) !== undefined, 'must be a duration such as 500ms or 5s');

/**
 * `MachineClass.providerSpec`. Loose, as the upstream local provider reads it: fields that it does not know, and those
 * of the pod flavour (`namespace`, `ipPoolNameV4`, `ipPoolNameV6`), are accepted and have no meaning here.
 */
export const LocalProviderSpec = z.looseObject({
  apiVersion: z.string().optional(),
  /** Image that the machine boots from. */
  image: z.string().min(1, 'must not be empty'),
  /** Machine type of the cloud; default `local`. */
  machineType: z.string().min(1).optional(),
  /** Another name of `machineType`. */
  instanceType: z.string().min(1).optional(),
  /** Zone of the cloud; default: its first one. */
  zone: z.string().min(1).optional(),
  /** Tags of the instance. `kubernetes.io/cluster/…` and `kubernetes.io/role/…` say which instances belong together. */
  tags: z.record(z.string(), z.string()).optional(),
  /** Disks made with the machine and gone with it. */
  volumes: z.array(z.looseObject({ sizeGi: z.int().positive() })).optional(),
  /** How long the machine takes to boot; default: what the cloud does. */
  bootLatency: duration.optional(),
});
export type LocalProviderSpec = z.infer<typeof LocalProviderSpec>;

/** Decoded data of the class's Secrets. */
export const LocalCredentials = z.looseObject({
  /** What the machine boots with; may be empty. */
  userData: z.string(),
  /** Address of the cloud; default: the process's own (`MCM_LOCAL_CLOUD_ENDPOINT`). */
  endpoint: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
  /** Bearer token of the cloud's account. */
  token: z.string().min(1).optional(),
});
export type LocalCredentials = z.infer<typeof LocalCredentials>;
