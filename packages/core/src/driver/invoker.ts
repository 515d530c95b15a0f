import type { Machine, MachineClass } from '@mcm/api';
import { type Clock, type Logger, makeKey, type Secret } from '@mcm/kube';
import type { z } from 'zod';
import type { Caches } from '../machine/caches.ts';
import { type ClassSecrets, dataVersion, readSecrets, redact, secretKeysOf, userDataOf } from './credentials.ts';
import { withDeadline } from './deadline.ts';
import type { DriverDefinition } from './define-driver.ts';
import type { CreatedInstance, DriverRequest, Instance, ListedInstance } from './driver.ts';
import { MachineError } from './errors.ts';

/** The longest that each call may take, in milliseconds. */
export interface DriverTimeouts {
  readonly create: number;
  readonly initialize: number;
  readonly status: number;
  readonly delete: number;
  readonly list: number;
}

const MINUTE = 60_000;

export const DRIVER_TIMEOUTS: DriverTimeouts = {
  create: 15 * MINUTE,
  initialize: 10 * MINUTE,
  status: 2 * MINUTE,
  delete: 15 * MINUTE,
  list: 10 * MINUTE,
};

/** Calls of a driver by machine or class: class and Secrets looked up at the time of the call, parsed, deadline set, errors scrubbed. */
export interface DriverInvoker {
  readonly can: { readonly initialize: boolean; readonly status: boolean; readonly list: boolean };
  /** Versions of what a call for the machine would be made with. */
  inputsOf(machine: Machine): string;
  classOf(machine: Machine): MachineClass | undefined;
  /** The class's user data; undefined when there is none. */
  userDataOf(machine: Machine): string | undefined;
  create(machine: Machine, render: (userData: string) => Promise<string>): Promise<CreatedInstance>;
  initialize(machine: Machine): Promise<Instance>;
  status(machine: Machine): Promise<Instance>;
  delete(machine: Machine): Promise<{ readonly lastKnownState?: string } | undefined>;
  list(machineClass: MachineClass): Promise<readonly ListedInstance[]>;
}

export interface InvokerOptions<Spec, Credentials> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  readonly caches: Pick<Caches, 'classes' | 'secrets'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly stop: AbortSignal;
  readonly timeouts?: DriverTimeouts;
  /** Told of every call that ended; for metrics. */
  readonly observe?: (call: keyof DriverTimeouts, ms: number, error: MachineError | undefined) => void;
}

/** Parses with the path of each problem. */
function parse<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${[what, ...path].join('.')}: ${message}`);
  throw new MachineError('InvalidArgument', problems.join('; '));
}

export function createInvoker<Spec, Credentials>(options: InvokerOptions<Spec, Credentials>): DriverInvoker {
  const { driver, caches, clock, log, stop, timeouts = DRIVER_TIMEOUTS, observe } = options;
  const classOf = (machine: Machine): MachineClass | undefined =>
    caches.classes.store.get(makeKey(machine.metadata.namespace, machine.spec.class.name ?? ''));
  const secretsOf = (machineClass: MachineClass): ClassSecrets =>
    readSecrets(machineClass, secretKeysOf(machineClass), (key) => caches.secrets.store.get(key));

  const classOrThrow = (machine: Machine): MachineClass => {
    const found = classOf(machine);
    if (found) return found;
    throw new MachineError(
      'InvalidArgument',
      `spec.class.name: MachineClass "${machine.spec.class.name ?? ''}" does not exist in namespace ${machine.metadata.namespace}; create it or name another`,
    );
  };

  /** What every call needs, with the problems of the Secrets told before the schema's, which follow from them. */
  const request = (
    machineClass: MachineClass,
    secrets: ClassSecrets,
    signal: AbortSignal,
    fields: Record<string, unknown>,
  ): DriverRequest<Spec, Credentials> => {
    if (secrets.problems.length > 0) throw new MachineError('InvalidArgument', secrets.problems.join('; '));
    return {
      machineClass,
      spec: parse(driver.providerSpec, machineClass.providerSpec, 'providerSpec'),
      credentials: parse(driver.credentialsSchema, secrets.data, 'secret data'),
      signal,
      log: log.with({ class: machineClass.metadata.name, ...fields }),
    };
  };

  const invoke = async <T>(
    call: keyof DriverTimeouts,
    what: string,
    secrets: () => ClassSecrets,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const since = clock.now().getTime();
    const took = (): number => clock.now().getTime() - since;
    try {
      const result = await withDeadline({ clock, timeoutMs: timeouts[call], stop, what }, work);
      observe?.(call, took(), undefined);
      return result;
    } catch (thrown) {
      const error = scrub(MachineError.from(thrown), secrets);
      observe?.(call, took(), error);
      throw error;
    }
  };

  const forMachine = <T>(
    call: 'create' | 'initialize' | 'status' | 'delete',
    machine: Machine,
    work: (
      request: DriverRequest<Spec, Credentials> & { readonly machine: Machine },
      secrets: ClassSecrets,
    ) => Promise<T>,
  ): Promise<T> => {
    const secrets = (): ClassSecrets => {
      const machineClass = classOf(machine);
      return machineClass ? secretsOf(machineClass) : { data: {}, problems: [] };
    };
    return invoke(call, `${call} of machine ${machine.metadata.name}`, secrets, async (signal) => {
      const machineClass = classOrThrow(machine);
      const found = secretsOf(machineClass);
      const fields = { machine: machine.metadata.name, call };
      return work({ ...request(machineClass, found, signal, fields), machine }, found);
    });
  };

  const absent = (method: string): never => {
    throw new MachineError('Unimplemented', `driver ${driver.name} has no ${method}`);
  };

  return {
    can: {
      initialize: driver.initialize !== undefined,
      status: driver.status !== undefined,
      list: driver.list !== undefined,
    },
    classOf,
    inputsOf: (machine) => inputs(classOf(machine), (key) => caches.secrets.store.get(key)),
    userDataOf: (machine) => {
      const machineClass = classOf(machine);
      return machineClass && secretsOf(machineClass).data.userData;
    },
    create: (machine, render) =>
      forMachine('create', machine, async (base, secrets) => {
        const userData = await render(userDataOf(secrets, machine.metadata.name));
        return driver.create({ ...base, userData });
      }),
    initialize: (machine) =>
      forMachine('initialize', machine, async (base) => driver.initialize?.(base) ?? absent('initialize')),
    status: (machine) => forMachine('status', machine, async (base) => driver.status?.(base) ?? absent('status')),
    delete: (machine) => forMachine('delete', machine, async (base) => driver.delete(base)),
    list: (machineClass) => {
      const secrets = secretsOf(machineClass);
      return invoke(
        'list',
        `list of class ${machineClass.metadata.name}`,
        () => secrets,
        async (signal) => {
          const base = request(machineClass, secrets, signal, { call: 'list' });
          return driver.list?.(base) ?? absent('list');
        },
      );
    },
  };
}

const secretVersion = (key: string, secret: Secret | undefined): string =>
  `${key}@${secret ? dataVersion(secret) : ''}`;

/** Metadata writes of a class (its finalizer) do not count: its generation does not change with them. */
function inputs(machineClass: MachineClass | undefined, find: (key: string) => Secret | undefined): string {
  if (!machineClass) return 'no class';
  const { uid, generation = 0 } = machineClass.metadata;
  return [`${uid}:${generation}`, ...secretKeysOf(machineClass).map((key) => secretVersion(key, find(key)))].join(' ');
}

/** The error without secrets, and without its cause, which may hold the whole request. */
function scrub(error: MachineError, secrets: () => ClassSecrets): MachineError {
  const { code, retryAfterMs } = error;
  const message = redact(error.message, secrets().data);
  return new MachineError(code, message, retryAfterMs === undefined ? {} : { retryAfterMs });
}
