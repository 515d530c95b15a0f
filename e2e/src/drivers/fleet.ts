import { crds, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import type { Emulator, Power } from '@mcm/cloud-emulators';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { buildMachineController, type DriverContext, type DriverDefinition } from '@mcm/core';
import {
  createClient,
  createMemoryLogger,
  createRecorder,
  type Draft,
  events,
  type KubeClient,
  type KubeObject,
  type Node,
  nodes,
  type ResourceDefinition,
  secrets,
  seededRandom,
  VirtualClock,
} from '@mcm/kube';

const NAMESPACE = 'default';
const CLASS = 'pool';
const DAY_MS = 86_400_000;

export const CRDS: ResourceDefinition<KubeObject> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

export type FleetCloud = Pick<Emulator, 'transport' | 'resources' | 'counts'>;

export interface FleetProvider<Spec, Credentials, Cloud extends FleetCloud = Emulator> {
  readonly cloud: (options: { readonly clock: VirtualClock; readonly power: Power }) => Cloud;
  readonly driver: (context: DriverContext) => DriverDefinition<Spec, Credentials>;
  readonly machineClass: Pick<Draft<MachineClass>, 'provider' | 'providerSpec'>;
  readonly secret: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Runs the real machine controller with the real driver of a provider, on an emulated cloud. */
export class Fleet<Cloud extends FleetCloud = Emulator> {
  readonly clock: VirtualClock;
  readonly cloud: Cloud;
  readonly log = createMemoryLogger();
  readonly #client: KubeClient;
  readonly #plane: ControlPlane;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  private constructor(plane: ControlPlane, clock: VirtualClock, parts: Parts<Cloud>) {
    this.clock = clock;
    this.#plane = plane;
    this.#client = parts.client;
    this.cloud = parts.cloud;
    const { clock: _, ...rest } = { clock, ...parts };
    const recorder = createRecorder({ client: parts.client, component: 'machine-controller', clock, log: this.log });
    const controller = buildMachineController({
      driver: rest.driver,
      control: parts.client,
      target: parts.client,
      namespace: NAMESPACE,
      clock,
      random: seededRandom(1),
      secretRandom: seededRandom(2),
      log: this.log,
      recorder,
      targetRecorder: recorder,
    });
    this.#running = controller.run(this.#stop.signal);
  }

  static async start<Spec, Credentials, Cloud extends FleetCloud>(
    provider: FleetProvider<Spec, Credentials, Cloud>,
  ): Promise<Fleet<Cloud>> {
    // Within one call, the SDKs need several turns of the event loop.
    const clock = new VirtualClock({ quietTurns: 8 });
    const plane = await startControlPlane({ clock, controllers: false });
    const client = createClient({
      transport: plane.transport,
      userAgent: 'fleet',
      clock,
      random: seededRandom(1),
    });
    for (const crd of crds) await client.resource(CRDS).create(crd);
    const cloud = provider.cloud({ clock, power: nodesOf(client) });
    const driver = provider.driver({ clock, random: seededRandom(3), connect: () => cloud.transport });
    await furnish(client, provider);
    return new Fleet(plane, clock, { client, cloud, driver: driver as DriverDefinition<unknown, unknown> });
  }

  async make(count: number, prefix = 'm'): Promise<void> {
    const resource = this.#client.resource<Machine>(machines, NAMESPACE);
    for (let i = 0; i < count; i++)
      await resource.create({
        metadata: {
          name: `${prefix}-${i}`,
          namespace: NAMESPACE,
          finalizers: ['machine.sapcloud.io/machine-controller-manager'],
          annotations: { 'machinepriority.machine.sapcloud.io': '3' },
        },
        spec: { class: { kind: 'MachineClass', name: CLASS } },
      });
  }

  async machines(): Promise<readonly Machine[]> {
    return (await this.#client.resource<Machine>(machines, NAMESPACE).list()).items;
  }

  async phases(): Promise<Readonly<Record<string, number>>> {
    const all = await this.machines();
    const groups = Map.groupBy(all, ({ status }) => status?.currentStatus?.phase ?? '');
    return Object.fromEntries([...groups].map(([phase, { length }]) => [phase, length]));
  }

  async annotate(name: string, annotations: Readonly<Record<string, string | null>>): Promise<void> {
    const body = { metadata: { annotations } };
    await this.#client.resource<Machine>(machines, NAMESPACE).patch(name, { type: 'merge', body });
  }

  async editProviderId(name: string, edit: (id: string) => string): Promise<void> {
    const resource = this.#client.resource<Machine>(machines, NAMESPACE);
    const { spec } = await resource.get(name);
    const body = { spec: { providerID: edit(spec.providerID ?? '') } };
    await resource.patch(name, { type: 'merge', body });
  }

  async nodes(): Promise<readonly Node[]> {
    return (await this.#client.resource(nodes).list()).items;
  }

  async reported(reason: string): Promise<readonly string[]> {
    const { items } = await this.#client.resource(events).list();
    return items.filter((event) => event.reason === reason).map(({ message = '' }) => message);
  }

  /** Waits until `count` machines are Running. */
  untilRunning(count: number, maxMs = DAY_MS): Promise<number> {
    return this.clock.runUntil(async () => ((await this.phases()).Running ?? 0) === count, { maxMs });
  }

  async deleteAll(prefix = ''): Promise<void> {
    for (const { metadata } of (await this.machines()).filter((each) => each.metadata.name.startsWith(prefix)))
      await this.#client.resource<Machine>(machines, NAMESPACE).delete(metadata.name);
  }

  untilGone(maxMs = DAY_MS, prefix = ''): Promise<number> {
    const isGone = async (): Promise<boolean> =>
      (await this.machines()).every(({ metadata }) => !metadata.name.startsWith(prefix));
    return this.clock.runUntil(isGone, { maxMs });
  }

  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.cloud.counts);
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('the fleet ends'));
    await this.#running.catch(() => undefined);
    await this.#plane.close();
  }
}

interface Parts<Cloud> {
  readonly client: KubeClient;
  readonly cloud: Cloud;
  readonly driver: DriverDefinition<unknown, unknown>;
}

/** When a VM is powered on, creates a Node that is Ready. */
export function nodesOf(client: KubeClient): Power {
  const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }] as const;
  return {
    on: ({ hostname, providerId }) => {
      void client
        .resource(nodes)
        .create({
          metadata: { name: hostname },
          spec: { providerID: providerId },
          status: { conditions: conditions.map((each) => ({ ...each, lastTransitionTime: '2026-01-01T00:00:00Z' })) },
        })
        .catch(() => undefined);
    },
    off: () => undefined,
  };
}

async function furnish(
  client: KubeClient,
  {
    machineClass,
    secret,
    annotations,
  }: Pick<FleetProvider<unknown, unknown, FleetCloud>, 'machineClass' | 'secret' | 'annotations'>,
): Promise<void> {
  const data = Object.fromEntries(
    Object.entries({ userData: '#cloud-config', ...secret }).map(([key, value]) => [
      key,
      Buffer.from(value).toString('base64'),
    ]),
  );
  const metadata = { name: CLASS, namespace: NAMESPACE };
  await client.resource(secrets, NAMESPACE).create({ metadata, data });
  const draft = { metadata: { ...metadata, annotations }, ...machineClass, secretRef: metadata };
  await client.resource<MachineClass>(machineClasses, NAMESPACE).create(draft as Draft<MachineClass>);
}
