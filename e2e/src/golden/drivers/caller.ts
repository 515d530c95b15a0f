import type { Machine, MachineClass } from '@mcm/api';
import {
  createInvoker,
  type DriverDefinition,
  type DriverInvoker,
  MachineError,
  registerDriverMetrics,
  type VolumeSource,
} from '@mcm/core';
import { createMetrics, defined, type Secret, silentLogger, type VirtualClock } from '@mcm/kube';
import type { RecordedCase, RecordedStep } from './recording.ts';

export interface Reported {
  readonly response: Readonly<Record<string, unknown>> | null;
  readonly error: MachineError | undefined;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface CallerOptions<Spec, Credentials> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  readonly recorded: RecordedCase;
  readonly provider: string;
  readonly clock: VirtualClock;
  readonly stop: AbortSignal;
}

const NAMESPACE = 'shoot--recorded';
export const UID = '3f0c9a52-8d5e-4c1b-9a57-2b1f6d0e7c44';
const meta = (name: string) => ({
  name,
  namespace: NAMESPACE,
  uid: UID,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
});

const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

/** Calls a driver as the machine controller does, with the class, Secret and Machine of a recorded case. */
export function createCaller<Spec, Credentials>(options: CallerOptions<Spec, Credentials>) {
  const { driver, recorded, provider, clock, stop } = options;
  const spec = recorded.providerSpecRaw ? JSON.parse(recorded.providerSpecRaw) : recorded.providerSpec;
  const machineClass: MachineClass = defined({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineClass',
    metadata: meta('class'),
    provider: recorded.provider ?? provider,
    providerSpec: spec as MachineClass['providerSpec'],
    secretRef: recorded.secret === null ? undefined : { name: 'secret', namespace: NAMESPACE },
  });
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: meta('secret'),
    data: {
      ...Object.fromEntries(Object.entries(recorded.secret ?? {}).map(([key, value]) => [key, base64(value)])),
      ...recorded.secretBase64,
    },
  };
  const metrics = createMetrics({ prefix: 'mcm_' });
  const observed = registerDriverMetrics(metrics.meters, driver.name, clock);
  const invoker = createInvoker({
    driver,
    caches: { classes: { store: { get: () => machineClass } }, secrets: { store: { get: () => secret } } },
    clock,
    log: silentLogger,
    stop,
    observe: observed.observe,
    observeApi: observed.observeApi,
    timeouts: recorded.callerDeadlineMs === undefined ? undefined : deadlines(recorded.callerDeadlineMs),
  });
  return async (step: RecordedStep): Promise<Reported> => {
    const before = await series(metrics);
    const machine = machineOf(recorded, step);
    let ended: { response: Reported['response']; error?: MachineError } | undefined;
    const running = call(invoker, step.method, machine, machineClass, recorded).then(
      (response) => {
        ended = { response };
      },
      (thrown: unknown) => {
        ended = { response: null, error: MachineError.from(thrown) };
      },
    );
    await clock.runUntil(() => ended !== undefined, { maxMs: 3_600_000 });
    await running;
    const after = await series(metrics);
    // The machine controller calls the driver for each volume, but a recording may contain several volumes in one call.
    const times = step.method === 'GetVolumeIDs' ? Math.max(recorded.pvSpecs?.length ?? 0, 1) : 1;
    const changed = Object.entries(after).map(
      ([name, value]) => [name, (value - (before[name] ?? 0)) / times] as const,
    );
    return {
      response: ended?.response ?? null,
      error: ended?.error,
      metrics: Object.fromEntries(changed.filter(([, value]) => value !== 0)),
    };
  };
}

const deadlines = (ms: number) => ({
  create: ms,
  initialize: ms,
  status: ms,
  stop: ms,
  start: ms,
  tag: ms,
  delete: ms,
  list: ms,
  evidence: 0,
  watchInterruptions: ms,
});

function machineOf({ machine = {} }: RecordedCase, { providerID }: RecordedStep): Machine {
  const { name = '', nodeTemplateAnnotations: annotations } = machine;
  return {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'Machine',
    metadata: meta(name),
    spec: defined({
      class: { kind: 'MachineClass', name: 'class' },
      providerID,
      nodeTemplate: annotations ? { metadata: { annotations } } : undefined,
    }),
  };
}

type Called = Readonly<Record<string, unknown>>;

async function call(
  invoker: DriverInvoker,
  method: string,
  machine: Machine,
  machineClass: MachineClass,
  recorded: RecordedCase,
): Promise<Called> {
  switch (method) {
    case 'CreateMachine':
      return reported(await invoker.create(machine, async (userData) => userData));
    case 'InitializeMachine':
      return reported(await invoker.initialize(machine));
    case 'GetMachineStatus':
      return reported(await invoker.status(machine));
    case 'DeleteMachine':
      return { lastKnownState: (await invoker.delete(machine))?.lastKnownState ?? '' };
    case 'ListMachines': {
      const listed = await invoker.list(machineClass);
      return { machineList: Object.fromEntries(listed.map((each) => [each.providerId, each.machineName])) };
    }
    case 'GetVolumeIDs': {
      const ids = (recorded.pvSpecs ?? []).map((source) => invoker.volumeIdOf((source ?? {}) as VolumeSource));
      return { volumeIDs: ids.filter((id) => id !== undefined) };
    }
    default:
      throw new Error(`the recording has an unknown driver method: ${method}`);
  }
}

const reported = (instance: {
  readonly providerId: string;
  readonly nodeName: string;
  readonly addresses?: readonly unknown[];
  readonly lastKnownState?: string;
}): Called => ({
  providerID: instance.providerId,
  nodeName: instance.nodeName,
  addresses: instance.addresses ?? [],
  lastKnownState: instance.lastKnownState ?? '',
});

/** Resolves with the metrics about requests to the cloud. */
async function series(metrics: ReturnType<typeof createMetrics>): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const line of (await metrics.scrape()).text.split('\n')) {
    const [, name = '', labels = '', value = ''] = /^(mcm_cloud_api_\w+)\{([^}]*)\} (\S+)$/.exec(line) ?? [];
    if (name === '' || name.endsWith('_bucket') || name.endsWith('_sum')) continue;
    found[`${name}{${labels.split(',').toSorted().join(',')}}`] = Number(value);
  }
  return found;
}
