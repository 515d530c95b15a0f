import type { Machine } from '@mcm/api';
import { type CreateDriver, type Dialect, loadDriverModule } from '@mcm/conformance';
import {
  handlerTransport,
  type KubeClient,
  type Random,
  seededRandom,
  silentLogger,
  type Transport,
  VirtualClock,
} from '@mcm/kube';
import { createLocalCloud, createLocalDriver, type KubeletBehaviour } from '@mcm/provider-local';
import { UserError } from '../command/errors.ts';
import { simulateNodes } from '../up/clouds/simulated-nodes.ts';
import { configOf, findDriver } from '../up/clouds/third-party.ts';

interface NodeSide {
  readonly client: KubeClient;
  readonly transport: Transport;
  readonly namespace: string;
  readonly random: Random;
  readonly signal: AbortSignal;
}

export type OrderKubelet = (machine: Machine, behaviour: KubeletBehaviour) => void;

/** A cloud on a virtual clock in this process, with its driver. */
export interface SimulatedCloud {
  readonly clock: VirtualClock;
  readonly connect: (origin: string) => Transport;
  readonly createDriver: CreateDriver;
  readonly secret: Readonly<Record<string, string>>;
  readonly dialect: Dialect;
  /** Returns the names of all resources. If `inventory` is absent, the simulation uses `list` of the driver. */
  readonly inventory: (() => readonly string[] | Promise<readonly string[]>) | undefined;
  readonly startNodes: (side: NodeSide) => Promise<OrderKubelet>;
  /** Announces the end of a VM. If `interrupt` is absent, the cloud has no notices. */
  readonly interrupt: ((machineName: string, noticeMs: number) => void | Promise<void>) | undefined;
  readonly close: () => void | Promise<void>;
}

/** Opens a new cloud for each history. */
export type OpenCloud = (seed: number) => Promise<SimulatedCloud>;

const MAX_CALLS = 1_000_000;
const SERVER = 'https://127.0.0.1';
const USER_DATA = '{"bootstrapToken":"<<BOOTSTRAP_TOKEN>>","nodeName":"<<MACHINE_NAME>>"}';

const refusal = (status: number, code: string) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ error: { code, message: '{message}' } }),
});

const LOCAL_DIALECT: Dialect = {
  throttled: refusal(429, 'RequestLimitExceeded'),
  exhausted: refusal(409, 'InsufficientCapacity'),
};

function lateTransport(): { readonly transport: Transport; readonly opens: (transport: Transport) => void } {
  let below: Transport | undefined;
  return {
    transport: (request) =>
      below ? below(request) : Promise.reject(new Error('the simulated cluster has not started')),
    opens: (transport) => {
      below = transport;
    },
  };
}

/** Opens the local cloud with simulated kubelets. */
export const openLocal =
  (joinMs: number): OpenCloud =>
  async (seed) => {
    const clock = new VirtualClock({ maxCalls: MAX_CALLS });
    const { transport, opens } = lateTransport();
    const cloud = createLocalCloud({
      clock,
      random: seededRandom(seed),
      log: silentLogger,
      kubelets: {
        connect: () => transport,
        nodeCluster: { server: SERVER, transport, bare: transport },
        defaults: { joinDelay: joinMs },
      },
    });
    const living = () => [...cloud.instances.list()].filter(({ state }) => state !== 'terminated');
    return {
      clock,
      connect: () => handlerTransport(async (request) => cloud.fetch(request)),
      createDriver: ({ clock: own, connect }) =>
        createLocalDriver({ clock: own, connect, defaults: { endpoint: 'http://cloud.invalid' } }),
      secret: { userData: USER_DATA },
      dialect: LOCAL_DIALECT,
      inventory: () => living().map(({ id, name }) => `${name} (${id})`),
      startNodes: async (side) => {
        opens(side.transport);
        return ({ metadata }, behaviour) => {
          const vm = living().find(({ clientToken }) => clientToken === metadata.uid);
          if (vm) cloud.kubelets.order(vm.id, behaviour);
        };
      },
      interrupt: (machineName, noticeMs) => {
        const vm = living().find(({ name }) => name === machineName);
        if (vm) cloud.interruptions.announce(vm.id, { kind: 'Terminate', noticeMs, detail: 'a simulated notice' });
      },
      close: () => cloud.close(),
    };
  };

/** Opens the cloud of a driver module, and simulates a kubelet for each VM. */
export const openThirdParty = async (text: string, from: string, joinMs: number): Promise<OpenCloud> => {
  const place = findDriver(text, from);
  const { createDriver, openCloud } = await loadDriverModule(place.module);
  if (openCloud === undefined)
    throw new UserError(
      `--provider ${text}: the module must export openCloud(), because a simulation needs a cloud in this process`,
    );
  const { secret, dialect } = configOf(place);
  return async () => {
    const world = await openCloud();
    const { clock } = world;
    if (!(clock instanceof VirtualClock))
      throw new UserError(
        `--provider ${text}: the VirtualClock of openCloud() must come from the installation of @mcm/kube that mcm uses`,
      );
    return {
      clock,
      connect: world.connect,
      createDriver,
      secret,
      dialect,
      inventory: world.inventory,
      startNodes: async ({ transport, random, ...side }) => {
        const host = await simulateNodes({
          ...side,
          clock,
          random,
          log: silentLogger,
          connections: { connect: () => transport, nodeCluster: { server: SERVER, transport, bare: transport } },
          userData: USER_DATA,
          defaults: { joinDelay: joinMs },
          hex: (bytes) => Array.from({ length: 2 * bytes }, () => Math.floor(random.next() * 16).toString(16)).join(''),
        });
        return ({ metadata }, behaviour) => void host.order(metadata.uid, behaviour);
      },
      interrupt: world.interrupt,
      close: () => world.close?.(),
    };
  };
};
