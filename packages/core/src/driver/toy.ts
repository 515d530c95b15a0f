import type { Machine, MachineClass } from '@mcm/api';
import { createMemoryLogger, type Secret, VirtualClock } from '@mcm/kube';
import { z } from 'zod';
import type { CreatedInstance } from './contract/driver.ts';
import { MachineError } from './contract/errors.ts';
import type { DriverInvoker, InvokerOptions } from './invoker/api/invoker-api.ts';
import { createInvoker } from './invoker/invoker.ts';
import { type DriverDefinition, defineDriver } from './schemas/define-driver.ts';

const meta = (name: string) => ({
  name,
  namespace: 'default',
  uid: name,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
});
export const classOf = (name: string): MachineClass => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineClass',
  metadata: meta(name),
  providerSpec: { size: 'small', sise: 1, disks: [{ gigabyte: 5 }] },
  secretRef: { name, namespace: 'default' },
});
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const secretOf = (name: string, token: string): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: meta(name),
  data: { userData: base64(`#cloud-config of pool ${name}`), token: base64(token) },
});
export const machineOf = (name: string, className: string): Machine => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'Machine',
  metadata: meta(name),
  spec: { class: { kind: 'MachineClass', name: className } },
});

export const TOKENS: Readonly<Record<string, string>> = {
  a: 'token-shared',
  b: 'token-shared',
  other: 'token-of-other',
};

const spec = z.object({
  size: z.string().meta({ description: 'small or large' }),
  disks: z.array(z.object({ gigabytes: z.int().optional() })).optional(),
});
const credentials = z.looseObject({ token: z.string() });
export type Toy = DriverDefinition<z.infer<typeof spec>, z.infer<typeof credentials>>;

export function play(
  change: Partial<Toy>,
  options: Partial<InvokerOptions<z.infer<typeof spec>, z.infer<typeof credentials>>> = {},
) {
  const clock = new VirtualClock();
  const log = createMemoryLogger();
  const made: CreatedInstance = { providerId: 'toy:///1', nodeName: 'node-1' };
  const driver = defineDriver({
    name: 'toy',
    providerSpec: spec,
    credentialsSchema: credentials,
    create: async () => made,
    delete: async () => undefined,
    list: async () => [],
    ...change,
  });
  const name = (key: string): string => key.replace('default/', '');
  const invoker = createInvoker({
    driver,
    clock,
    log,
    stop: new AbortController().signal,
    caches: {
      classes: { store: { get: (key) => classOf(name(key)) } },
      secrets: { store: { get: (key) => secretOf(name(key), TOKENS[name(key)] ?? '') } },
    },
    ...options,
  });
  return { clock, log, driver, invoker };
}

export const create = (invoker: DriverInvoker, name: string, className = 'a'): Promise<CreatedInstance> =>
  invoker.create(machineOf(name, className), async (userData) => userData);

export const failure = async (call: Promise<unknown>): Promise<MachineError> => {
  const thrown: unknown = await call.then(
    () => new Error('the call must fail'),
    (error: unknown) => error,
  );
  if (thrown instanceof MachineError) return thrown;
  throw new Error('no MachineError was thrown', { cause: thrown });
};
