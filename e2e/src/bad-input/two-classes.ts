import { crds, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { buildMachineController, type DriverContext, type DriverDefinition } from '@mcm/core';
import {
  createClient,
  createMemoryLogger,
  createRecorder,
  type Draft,
  events,
  type KubeClient,
  secrets,
  seededRandom,
  type Transport,
  VirtualClock,
} from '@mcm/kube';
import { CRDS } from '../drivers/fleet.ts';
import type { ClassInput } from './class-input.ts';
import type { CloudOf } from './clouds.ts';

const NAMESPACE = 'default';
const ORDINARY = 'ordinary';
const ODD = 'odd';
/** Events never expire, so that one event counts all repetitions. */
const NEVER_MS = 0;

const reported = (_key: string, value: unknown): unknown =>
  value instanceof Error ? `${value.message} ${value.stack ?? ''} ${String(value.cause ?? '')}` : value;

/** Runs the real machine controller with a real driver and two classes, in this process and with a virtual clock. */
export class TwoClasses {
  readonly clock: VirtualClock;
  readonly log = createMemoryLogger();
  readonly asked = new Map<string, number>();
  readonly #client: KubeClient;
  readonly #cloud: CloudOf;
  readonly #close: () => Promise<void>;

  private constructor(clock: VirtualClock, client: KubeClient, cloud: CloudOf, close: () => Promise<void>) {
    this.clock = clock;
    this.#client = client;
    this.#cloud = cloud;
    this.#close = close;
  }

  static async start(open: (context: { clock: VirtualClock; client: KubeClient }) => CloudOf): Promise<TwoClasses> {
    const clock = new VirtualClock({ quietTurns: 8 });
    const plane = await startControlPlane({ clock, controllers: false, eventTtlMs: NEVER_MS });
    const transport = plane.transport;
    const client = createClient({ transport, userAgent: 'two-classes', clock, random: seededRandom(1) });
    for (const crd of crds) await client.resource(CRDS).create(crd);
    const cloud = open({ clock, client });
    const stop = new AbortController();
    let running: Promise<unknown> = Promise.resolve();
    const two = new TwoClasses(clock, client, cloud, async () => {
      stop.abort(new Error('the test ends'));
      await running.catch(() => undefined);
      await plane.close();
    });
    const recorder = createRecorder({ client, component: 'machine-controller', clock, log: two.log });
    const context: DriverContext = { clock, random: seededRandom(3), connect: (origin) => two.#counted(origin) };
    const controller = buildMachineController({
      control: client,
      target: client,
      namespace: NAMESPACE,
      clock,
      log: two.log,
      recorder,
      targetRecorder: recorder,
      random: seededRandom(1),
      secretRandom: seededRandom(2),
      driver: cloud.driver(context) as DriverDefinition<unknown, unknown>,
    });
    running = controller.run(stop.signal);
    await two.#add(ORDINARY, cloud.ordinary);
    await two.make(ORDINARY, 1);
    await two.untilWorks(`${ORDINARY}-0`);
    two.asked.clear();
    return two;
  }

  #counted(origin: string): Transport {
    return async (request) => {
      this.asked.set(origin, (this.asked.get(origin) ?? 0) + 1);
      const transport = this.#cloud.origins(origin);
      if (transport instanceof Error) throw transport;
      return transport(request);
    };
  }

  async addOdd(change: { readonly spec?: object; readonly secret?: Readonly<Record<string, string>> }): Promise<void> {
    await this.#add(ODD, { ...this.#cloud.ordinary, ...change });
    await this.make(ODD, 2);
  }

  async #add(name: string, { provider, spec, secret }: ClassInput): Promise<void> {
    const metadata = { name, namespace: NAMESPACE };
    const data = Object.fromEntries(
      Object.entries(secret).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    );
    await this.#client.resource(secrets, NAMESPACE).create({ metadata, data });
    const draft = { metadata, provider, providerSpec: spec, secretRef: metadata };
    await this.#client.resource<MachineClass>(machineClasses, NAMESPACE).create(draft as Draft<MachineClass>);
  }

  /** Creates `count` machines of a class. */
  async make(name: string, count: number, from = 0): Promise<void> {
    const resource = this.#client.resource<Machine>(machines, NAMESPACE);
    for (let i = from; i < from + count; i++)
      await resource.create({
        metadata: {
          name: `${name}-${i}`,
          namespace: NAMESPACE,
          finalizers: ['machine.sapcloud.io/machine-controller-manager'],
        },
        spec: { class: { kind: 'MachineClass', name } },
      });
  }

  machine(name: string): Promise<Machine> {
    return this.#client.resource<Machine>(machines, NAMESPACE).get(name);
  }

  /** Waits until a machine has a VM, and resolves with the virtual time that this took. */
  untilWorks(name: string): Promise<number> {
    const works = async (): Promise<boolean> => Boolean((await this.machine(name)).spec.providerID);
    return this.clock.runUntil(works, { maxMs: 3_600_000 });
  }

  async status(name: string): Promise<string> {
    return (await this.machine(name)).status?.lastOperation?.description ?? '';
  }

  async warnings(name: string): Promise<readonly { readonly text: string; readonly count: number }[]> {
    const { items } = await this.#client.resource(events, NAMESPACE).list();
    return items
      .filter(({ involvedObject: of, type }) => of.kind === 'MachineClass' && of.name === name && type === 'Warning')
      .map(({ reason, message, count = 1 }) => ({ text: `${reason}: ${message}`, count }));
  }

  /** Returns everything that a user without access to Secrets can read: all other objects, and the log. */
  async readable(): Promise<string> {
    const of = async (definition: typeof events | typeof machines | typeof machineClasses): Promise<string> =>
      JSON.stringify((await this.#client.resource(definition as typeof events, NAMESPACE).list()).items);
    return [
      await of(events),
      await of(machines),
      await of(machineClasses),
      JSON.stringify(this.log.lines, reported),
    ].join('\n');
  }

  close(): Promise<void> {
    return this.#close();
  }
}
