import { readFileSync } from 'node:fs';
import {
  type DriverContext,
  type DriverDefinition,
  defineDriver,
  type InterruptionRequest,
  MachineError,
  type TagChanges,
  type TagRequest,
} from '@mcm/core';
import { sleep } from '@mcm/kube';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { openToyCloud } from '../examples/toy-cloud.ts';
import { createDriver } from '../examples/toy-driver.ts';
import { conformanceConfig } from './config.ts';
import { junitXml, outcomeText } from './report.ts';
import { runConformance, SCENARIOS } from './run.ts';
import type { ConformanceTarget, CreateDriver } from './stage/target.ts';

const config = conformanceConfig.parse(parse(readFileSync(new URL('../examples/toy.yaml', import.meta.url), 'utf8')));
type Toy = ReturnType<typeof createDriver>;

const target = (make: CreateDriver): ConformanceTarget => ({
  ...config,
  name: 'toy',
  createDriver: make,
  openCloud: openToyCloud,
});

/** Creates a driver with one deliberate error: a copy of the driver in the example, with a change. */
const spoilt = (change: (toy: Toy, context: DriverContext) => Partial<DriverDefinition<never, never>>): CreateDriver =>
  ((context: DriverContext) => {
    const toy = createDriver(context);
    return defineDriver({ ...toy, ...(change(toy, context) as Partial<Toy>) });
  }) as CreateDriver;

const OWNERS = new Map<string, string | undefined>();

const absent = (): never => {
  throw new MachineError('Unimplemented', 'the example has no look-up');
};

let next = 0;
const fresh = (): string => `other-${++next}`;

const asking = (context: DriverContext, change: (body: Record<string, unknown>) => object): DriverContext => ({
  ...context,
  connect: (origin) => {
    const below = context.connect(origin);
    return (request) =>
      below(request.body ? { ...request, body: JSON.stringify(change(JSON.parse(request.body))) } : request);
  },
});

const BAD: readonly (readonly [string, string, CreateDriver])[] = [
  [
    'interruption',
    'a notice that is removed before it is recorded',
    spoilt((toy) => ({
      watchInterruptions: (r: InterruptionRequest<never, never>) => {
        const notify: typeof r.notify = async (notice) => {
          await r.notify(notice);
          return 'done';
        };
        return toy.watchInterruptions?.({ ...r, notify }) ?? absent();
      },
    })),
  ],
  [
    'interruption: wait',
    'a wait that ignores its signal',
    spoilt((toy, { clock }) => ({
      watchInterruptions: async (r: never) => {
        await toy.watchInterruptions?.(r).catch(() => undefined);
        await sleep(clock, 20_000);
      },
    })),
  ],
  ['stop and start', 'a stop without an effect', spoilt(() => ({ stop: async () => undefined }))],
  ['stop and start', 'a start without an effect', spoilt(() => ({ start: async () => undefined }))],
  ['tag', 'a tag without an effect', spoilt(() => ({ tag: async () => undefined }))],
  [
    'tag',
    'a tag that removes all other tags',
    spoilt((toy) => ({
      tag: async (r: TagRequest<never, never>) => {
        const others = { 'mcm-orphan-quarantined': null, 'mcm-orphan-delete-after': null };
        await toy.tag?.({ ...r, tags: { ...others, ...r.tags } });
      },
    })),
  ],
  [
    'tag',
    'a list with all tags',
    spoilt((toy) => ({
      list: async (r: never) => ((await toy.list?.(r)) ?? []).map((each) => ({ ...each, tags: each.tags ?? {} })),
    })),
  ],
  [
    'tag: lost responses',
    'a repeated tag that writes another value',
    spoilt((toy) => {
      let calls = 0;
      const again = (tags: TagChanges): TagChanges =>
        Object.fromEntries(Object.entries(tags).map(([key, value]) => [key, value && `${value}-again`]));
      return {
        tag: async (r: TagRequest<never, never>) => toy.tag?.(calls++ === 0 ? r : { ...r, tags: again(r.tags) }),
      };
    }),
  ],
  [
    'tag: deletion',
    'a tag of a deleted VM that fails',
    spoilt((toy) => ({
      tag: async (r: TagRequest<never, never>) => {
        if (!(await toy.list?.(r))?.some(({ machineName }) => machineName === r.machine.metadata.name))
          throw new MachineError('NotFound', 'the server does not exist');
        return toy.tag?.(r);
      },
    })),
  ],
  [
    'stop: deletion',
    'a stop of a deleted VM that succeeds',
    spoilt((toy) => ({ stop: async (r: never) => toy.stop?.(r).catch(() => undefined) })),
  ],
  [
    'start: capacity',
    'missing capacity for a start reported as Internal',
    spoilt((toy) => ({ start: async (r: never) => toy.start?.(r).catch(internal) })),
  ],
  [
    'creation',
    'another provider id than the listing',
    spoilt((toy) => ({ create: async (r: never) => ({ ...(await toy.create(r)), providerId: 'toy:///other' }) })),
  ],
  [
    'user data can contain any bytes',
    'user data that is taken for text',
    (context) =>
      createDriver(
        asking(context, (body) => ({
          ...body,
          userData: Buffer.from(String(body.userData), 'base64').toString('utf8'),
        })),
      ),
  ],
  [
    'repeated creation',
    'a token of its own for each call',
    (context) => createDriver(asking(context, (body) => ({ ...body, token: fresh() }))),
  ],
  [
    'a crash between',
    'a token of its own for each process',
    (context) => {
      const mine = fresh();
      return createDriver(asking(context, (body) => ({ ...body, token: `${body.token}-${mine}` })));
    },
  ],
  [
    'alternatives',
    'a token of its own for each process',
    (context) => {
      const mine = fresh();
      return createDriver(asking(context, (body) => ({ ...body, token: `${body.token}-${mine}` })));
    },
  ],
  [
    'lost responses to the requests of a creation',
    'a token of its own for each call',
    (context) => createDriver(asking(context, (body) => ({ ...body, token: fresh() }))),
  ],
  [
    'adoption of an existing VM',
    'a look-up by the UID alone',
    spoilt((toy) => ({
      status: async (r: { machine: { metadata: object } }) => {
        const { machine } = r;
        return (toy.status ?? absent)({
          ...r,
          machine: { ...machine, metadata: { ...machine.metadata, name: fresh() } },
        } as never);
      },
    })),
  ],
  [
    'no adoption of a terminated VM',
    'a look-up that remembers what was made under the name',
    spoilt((toy) => {
      const made = new Map<string, unknown>();
      return {
        create: async (r: { machine: { metadata: { name: string } } }) => {
          const { name } = r.machine.metadata;
          const vm = await toy.create(r as never);
          made.set(name, vm);
          return vm;
        },
        status: async (r: { machine: { metadata: { name: string } } }) =>
          made.get(r.machine.metadata.name) ?? toy.status?.(r as never),
      } as never;
    }),
  ],
  [
    "no adoption of another control cluster's VM",
    'owners are reported, but not compared',
    spoilt((toy) => ({
      create: async (r: { owner?: string | undefined }) => {
        const vm = await toy.create(r as never);
        OWNERS.set(vm.providerId, r.owner);
        return vm;
      },
      list: async (r: never) =>
        ((await toy.list?.(r)) ?? []).map((vm) => {
          const owner = OWNERS.get(vm.providerId);
          return owner === undefined ? vm : { ...vm, owner };
        }),
    })),
  ],
  [
    'many machines',
    'one token for all',
    (context) => createDriver(asking(context, (body) => ({ ...body, token: 'one' }))),
  ],
  [
    'throttling without',
    'a throttle reported as Internal',
    spoilt((toy) => ({ create: (r: never) => toy.create(r).catch(internal) })),
  ],
  ['throttling with', 'Retry-After forgotten', spoilt((toy) => ({ create: (r: never) => twice(() => toy.create(r)) }))],
  [
    'exhausted capacity',
    'missing capacity reported as Internal',
    spoilt((toy) => ({ create: (r: never) => toy.create(r).catch(internal) })),
  ],
  [
    'exhausted quota',
    'missing quota reported as Internal',
    spoilt((toy) => ({ create: (r: never) => toy.create(r).catch(internal) })),
  ],
  [
    'partly failed',
    'a disk made first and never deleted',
    spoilt((toy) => ({
      create: async (r: never) => {
        await toy.create(withUid(r));
        return toy.create(r);
      },
    })),
  ],
  [
    'the list contains',
    'a disk made first, which the listing leaves out',
    spoilt((toy) => ({
      create: async (r: never) => {
        await toy.create(withUid(r));
        return toy.create(r);
      },
      list: async () => [],
    })),
  ],
  [
    'status',
    'a machine without a VM has one',
    spoilt(() => ({ status: async () => ({ providerId: 'toy:///srv-1', nodeName: 'n' }) })),
  ],
  [
    'a missing response',
    'every failure is NotFound',
    spoilt((toy) => ({
      status: (r: never) => toy.status?.(r).catch(() => Promise.reject(new MachineError('NotFound', 'gone'))) as never,
    })),
  ],
  [
    'all pages',
    'the first page only',
    spoilt((toy) => ({ list: async (r: never) => ((await toy.list?.(r)) ?? []).slice(0, 5) })),
  ],
  [
    'VMs of other clusters',
    'a class of theirs listed as ours',
    spoilt((toy) => ({
      list: async (r: never) => [
        ...((await toy.list?.(r)) ?? []),
        ...((await toy.list?.({ ...(r as object), spec: { cluster: 'theirs' } } as never)) ?? []),
      ],
    })),
  ],
  [
    'volumes',
    'every volume has an id, of whatever kind',
    spoilt(() => ({ volumeIds: (sources: readonly object[]) => sources.map(() => 'vol-1') })),
  ],
  ['deletion', 'nothing is deleted', spoilt(() => ({ delete: async () => undefined }))],
  [
    'deletion of a VM that no longer exists',
    'what is gone is an error',
    spoilt((toy) => ({
      delete: async (r: never) => {
        await toy.status?.(r).catch(internal);
        return toy.delete(r);
      },
    })),
  ],
  [
    'deletion of an orphan',
    'it is looked for by the UID of its Machine',
    spoilt((toy) => ({
      delete: (r: { machine: { spec: object; metadata: object } }) => {
        const { machine } = r;
        const unknown = { ...machine, metadata: { ...machine.metadata, name: fresh() } };
        return toy.delete({ ...r, machine: { ...unknown, spec: { ...machine.spec, providerID: undefined } } } as never);
      },
    })),
  ],
  [
    'lost responses to the requests of a deletion',
    'what is gone is an error',
    spoilt((toy) => ({
      delete: async (r: never) => {
        await toy.status?.(r).catch(internal);
        return toy.delete(r);
      },
    })),
  ],
  [
    'its signal aborts',
    'the signal is not passed on',
    spoilt((toy) => ({
      create: (r: never) => toy.create({ ...(r as object), signal: new AbortController().signal } as never),
    })),
  ],
  [
    'deadline',
    'every failure is InvalidArgument',
    spoilt((toy) => ({
      create: (r: never) =>
        toy.create(r).catch((e: unknown) => Promise.reject(new MachineError('InvalidArgument', String(e)))),
    })),
  ],
  [
    'deadline',
    'the signal is not passed on',
    spoilt((toy) => ({
      create: (r: never) => toy.create({ ...(r as object), signal: new AbortController().signal } as never),
    })),
  ],
  [
    'secrets',
    'the credentials are printed',
    spoilt((toy) => ({
      create: (r: { credentials: object }) => {
        process.stdout.write(`creating with ${JSON.stringify(r.credentials)}\n`);
        return toy.create(r as never);
      },
    })),
  ],
  [
    'an invalid provider spec',
    'any provider spec will do',
    spoilt(() => ({
      decode: () => ({ spec: { cluster: 'ours' }, credentials: { token: 'toy-token', userData: '' } }) as never,
    })),
  ],
  [
    'with a missing key',
    'no key is needed',
    spoilt((toy) => ({
      decode: () => ({ spec: { cluster: 'ours' }, credentials: { token: 'toy-token', userData: '' } }) as never,
      create: (r: never) => toy.create({ ...(r as object), userData: '' } as never),
    })),
  ],
];

function internal(error: unknown): never {
  throw new MachineError('Internal', String(error));
}

/** Repeats the call once, immediately after any error. */
const twice = async <T>(call: () => Promise<T>): Promise<T> => call().catch(call);

const withUid = (request: object): never => {
  const { machine } = request as { machine: { metadata: object } };
  return {
    ...request,
    machine: { ...machine, metadata: { ...machine.metadata, uid: fresh(), name: fresh() } },
  } as never;
};

test.each(BAD)('%s: %s, and the kit detects it', async (only, _, make) => {
  const good = await runConformance(target(createDriver as CreateDriver), { only });
  expect(good.failed).toBe(0);
  const bad = await runConformance(target(make), { only });
  expect(bad.failed).toBeGreaterThan(0);
  const [failed] = bad.outcomes.filter(({ state }) => state === 'failed');
  if (!failed) throw new Error('nothing failed');
  expect(outcomeText(failed)).toContain(`Impact on users: ${failed.scenario.impact}.`);
  expect(junitXml(bad)).toContain(`failures="${bad.failed}"`);
});

test('a driver that adds its credentials to errors fails, although the controller removes them', async () => {
  const make = spoilt((toy) => ({
    create: (request: { credentials: { token: string } }) =>
      toy.create(request as never).catch((error: unknown) => {
        throw new MachineError('Unavailable', `with token ${request.credentials.token}: ${String(error)}`);
      }),
  }));
  const { outcomes } = await runConformance(target(make), { only: 'no output contains secrets' });
  expect(outcomes[0]).toMatchObject({
    state: 'failed',
    why: expect.stringMatching(
      /^the driver adds the value of secret\.token to an error: with token \*\*\*: .*not now$/,
    ),
  });
});

/** The example does not need the optional method `initialize`. */
const initializing = (initialize: (toy: Toy) => NonNullable<Toy['initialize']>): CreateDriver =>
  spoilt((toy) => ({ initialize: initialize(toy) }) as Partial<DriverDefinition<never, never>>);

test.each<[string, (toy: Toy) => NonNullable<Toy['initialize']>, string]>([
  [
    'another VM than creation made',
    (toy) => async (r) => ({ ...(await toy.status?.(r)), providerId: 'toy:///other', nodeName: 'n' }),
    'initialize must return the created VM, but returns another VM',
  ],
  [
    'only once',
    () => {
      const seen = new Set<string>();
      return async ({ machine: { metadata, spec } }) => {
        if (seen.has(metadata.uid)) throw new MachineError('Internal', 'is initialized');
        seen.add(metadata.uid);
        return { providerId: spec.providerID ?? '', nodeName: metadata.name };
      };
    },
    'the repeated initialize failed with Internal: is initialized',
  ],
])('initialize: %s, and the kit detects it', async (_, initialize, why) => {
  const right = initializing((toy) => async (r) => (await toy.status?.(r)) ?? Promise.reject(new Error('no status')));
  const good = await runConformance(target(right), { only: 'initialize' });
  expect(good.outcomes.map(({ state }) => state)).toEqual(['passed']);
  const bad = await runConformance(target(initializing(initialize)), { only: 'initialize' });
  expect(bad.outcomes.map((each) => each.why)).toEqual([why]);
});

test('every scenario has a driver that fails it', () => {
  const seen = (name: string): boolean => BAD.some(([only]) => name.includes(only)) || name === 'initialize';
  expect(SCENARIOS.filter(({ name }) => !seen(name)).map(({ name }) => name)).toEqual([]);
});
