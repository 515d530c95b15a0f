import { crds, type Machine, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  createMemoryLogger,
  type KubeClient,
  type Node,
  seededRandom,
  type Transport,
  VirtualClock,
} from '@mcm/kube';
import { onTestFinished } from 'vitest';
import { BlockedByField } from '../../blocked/blocks.ts';
import { NO_DRAIN_MEMORY } from '../../drain/model/observation.ts';
import { EvictionApi } from '../../drain/requests/eviction-api.ts';
import { NodeActions } from '../../machine/calls/node-actions.ts';
import { Performer } from '../../machine/calls/perform.ts';
import type { MachineMemory } from '../../machine/model/memory.ts';
import { machine } from '../../machine/testing.ts';

export const refusal = (code: number, reason: string): Response =>
  Response.json(
    { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: reason },
    { status: code },
  );

type Refuse = (method: string, path: string) => Response | undefined;

function memoryCache<T extends { readonly metadata: { readonly name: string } }>() {
  const recorded: T[] = [];
  const shown = new Map<string, T>();
  const cache = { recordWrite: (object: T) => recorded.push(object), store: { get: (key: string) => shown.get(key) } };
  return { recorded, shown, cache };
}

interface Stage {
  readonly admin: KubeClient;
  readonly client: KubeClient;
  readonly clock: VirtualClock;
  readonly log: ReturnType<typeof createMemoryLogger>;
  readonly asked: string[];
}

async function startStage(refuse: Refuse = () => undefined): Promise<Stage> {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false });
  onTestFinished(() => plane.close());
  const asked: string[] = [];
  const direct = plane.transport;
  const refusing: Transport = async (request) => {
    asked.push(`${request.method} ${request.path.replace(/\?.*/, '')}`);
    return refuse(request.method, request.path) ?? direct(request);
  };
  const clientOf = (transport: Transport) =>
    createClient({ transport, userAgent: 't', clock, random: seededRandom(1) });
  return { admin: clientOf(direct), client: clientOf(refusing), clock, log: createMemoryLogger(), asked };
}

export async function startNodeActions(refuse?: Refuse) {
  const stage = await startStage(refuse);
  const { recorded, shown, cache } = memoryCache<Node>();
  const caches = { target: { nodes: cache } };
  const actions = new NodeActions({ target: stage.client, log: stage.log, caches } as never);
  const memory: MachineMemory = { drain: NO_DRAIN_MEMORY };
  const signal = new AbortController().signal;
  const scope = (o: object = {}) =>
    ({ o: { machine: machine(), ...o }, memory, now: stage.clock.now(), signal }) as never;
  return { ...stage, actions, caches, memory, recorded, shown, scope };
}

type Called = [name: string, ...args: unknown[]];

export async function startPerformer(refuse?: Refuse) {
  const stage = await startNodeActions(refuse);
  const { recorded: writes, cache } = memoryCache<Machine>();
  const called: Called[] = [];
  const noting =
    (name: string) =>
    (...args: unknown[]): void => {
      called.push([name, ...args]);
    };
  const tokens = { issued: () => false, extend: noting('extend'), remove: noting('remove') };
  const options = {
    target: stage.client,
    control: stage.client,
    log: stage.log,
    caches: { ...stage.caches, machines: cache },
    evidence: { keep: noting('keepEvidence') },
    keptVms: { keep: noting('keepVm') },
    recorder: { event: (_about: unknown, ...rest: unknown[]) => called.push(['event', ...rest]) },
    calls: { start: noting('start') },
    evictions: new EvictionApi(undefined),
    blockedBy: new BlockedByField(),
    tokens,
  };
  const performer = new Performer(options as never);
  const made = async (metadata: Partial<Machine['metadata']> = {}, status?: Machine['status']): Promise<Machine> => {
    const draft = machine({ name: 'm', metadata });
    const client = stage.admin.resource<Machine>(machines, 'default');
    const one = await client.create({
      metadata: { ...metadata, name: 'm', namespace: 'default', finalizers: metadata.finalizers ?? [] },
      spec: draft.spec,
    });
    return status ? client.patch('m', { type: 'merge', body: { status } }, { subresource: 'status' }) : one;
  };
  return { ...stage, called, made, options, performer, tokens, writes };
}
