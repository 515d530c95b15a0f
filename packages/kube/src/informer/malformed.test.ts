import { describe, expect, test } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { createClient } from '../client/create-client.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { done } from '../contract/controller.ts';
import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import { conform } from '../contract/shape.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { createController } from '../queue/create-controller.ts';
import { malformations, sampleOf } from '../testing/malformed.ts';
import { ScriptedStream, scriptedTransport } from '../testing/scripted-server.ts';
import * as core from '../types/core.ts';
import * as groups from '../types/groups.ts';
import { createInformer } from './create-informer.ts';
import { faultsOf, faultText } from './faults.ts';

const isDefinition = (value: unknown): value is ResourceDefinition<KubeObject> =>
  typeof value === 'object' && value !== null && 'plural' in value;

const definitions = [...Object.values(core), ...Object.values(groups)].filter(isDefinition);

const objectOf = (definition: ResourceDefinition<KubeObject>, name: string, content: object): KubeObject => ({
  apiVersion: `${definition.group}/${definition.version}`,
  kind: definition.kind,
  metadata: { name, uid: `uid-${name}`, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  ...content,
});

function watching(
  definition: ResourceDefinition<KubeObject>,
  items: readonly KubeObject[],
  options: Partial<Parameters<typeof createInformer>[2]> = {},
) {
  const clock = new VirtualClock();
  const log = createMemoryLogger();
  const stream = new ScriptedStream();
  const list = { json: { metadata: { resourceVersion: '10' }, items: structuredClone(items) } };
  const transport = scriptedTransport(({ path }) => (path.includes('watch=true') ? { stream } : list));
  const client = createClient({ transport, userAgent: 'test', clock });
  const reported: string[] = [];
  const informer = createInformer(client, definition, {
    clock,
    log,
    random: seededRandom(1),
    freeze: true,
    malformed: (_object, sentence) => reported.push(sentence),
    ...options,
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  const end = async () => {
    stop.abort(new Error('test over'));
    await running;
  };
  return { clock, log, stream, reported, informer, stop, end };
}

function readAll(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const part of Object.values(value)) readAll(part);
}

describe.each(definitions.map((definition) => [definition.kind, definition] as const))('%s', (_kind, definition) => {
  const shape = definition.shape ?? {};
  const all = [...malformations(shape)];

  test('a field that is missing, null or of another type only affects its object, and is reported by name', async () => {
    const bad = all.map(({ content }, index) => objectOf(definition, `bad-${index}`, content));
    const good = objectOf(definition, 'good', sampleOf(shape) as object);
    const t = watching(definition, [...bad, good]);
    const seen: string[] = [];
    t.informer.onChange(({ key, object }) => {
      readAll(object);
      seen.push(key);
    });
    await t.informer.whenSynced();
    expect(seen).toHaveLength(all.length + 1);
    expect(faultsOf(t.informer.store.get('good'))).toEqual([]);
    for (const [index, { what, field, reported }] of all.entries()) {
      const object = t.informer.store.get(`bad-${index}`);
      const fields = faultsOf(object).map((fault) => fault.field);
      expect([what, fields]).toEqual([what, reported ? [field] : []]);
      expect([what, conform(structuredClone(object ?? {}), shape)]).toEqual([what, []]);
    }
    expect(t.informer.malformed).toBe(all.filter(({ reported }) => reported).length);
    expect(t.reported).toHaveLength(t.informer.malformed);
    expect(t.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
    await t.end();
  });
});

test('every kind of this package with content has a shape', () => {
  expect(definitions.filter(({ shape }) => shape === undefined).map(({ kind }) => kind)).toEqual(['Namespace']);
});

describe('functions that throw', () => {
  const bad = objectOf(core.nodes, 'bad', { spec: { providerID: 'throw' } });
  const good = objectOf(core.nodes, 'good', { spec: { providerID: 'fine' } });
  const idOf = (object: KubeObject): string => (object as core.Node).spec.providerID ?? '';
  const throwing = (object: KubeObject): string => {
    if (idOf(object) === 'throw') throw new TypeError('cannot read it');
    return idOf(object);
  };

  test('an index that throws loses only that object, and the log names object and index', async () => {
    const t = watching(core.nodes, [bad, good], { indexes: { id: (object) => [throwing(object)] } });
    await t.informer.whenSynced();
    expect(t.informer.store.byIndex('id', 'fine').map(({ metadata }) => metadata.name)).toEqual(['good']);
    expect(t.informer.store.get('bad')).toBeDefined();
    expect(t.log.lines).toContainEqual(
      expect.objectContaining({ level: 'error', fields: expect.objectContaining({ object: 'bad', index: 'id' }) }),
    );
    t.stream.event('MODIFIED', {
      ...bad,
      metadata: { ...bad.metadata, resourceVersion: '11' },
      spec: { providerID: 'mended' },
    });
    await t.clock.settle();
    expect(t.informer.store.byIndex('id', 'mended')).toHaveLength(1);
    await t.end();
  });

  test('a projection that throws stores the whole object, and the log names it', async () => {
    const project = (object: KubeObject): KubeObject => ({ ...object, kind: throwing(object) });
    const t = watching(core.nodes, [bad, good], { project });
    await t.informer.whenSynced();
    expect(t.informer.store.list().map(({ kind }) => kind)).toEqual(['Node', 'fine']);
    expect(t.log.lines).toContainEqual(
      expect.objectContaining({ level: 'error', fields: expect.objectContaining({ object: 'bad' }) }),
    );
    await t.end();
  });
});

describe('a controller with malformed objects', () => {
  const malformed = objectOf(core.nodes, 'bad', { spec: { taints: 'none' } });
  const fine = objectOf(core.nodes, 'good', { spec: {} });
  const statusOnly = objectOf(core.nodes, 'told', { spec: {}, status: { conditions: 'none' } });

  test('a controller ignores a malformed object until it is corrected, and reconciles all others', async () => {
    const t = watching(core.nodes, [malformed, fine, statusOnly]);
    const worked: string[] = [];
    const controller = createController({
      name: 'test',
      concurrency: 1,
      clock: t.clock,
      random: seededRandom(1),
      log: t.log,
      of: t.informer,
      reconcile: async (key) => {
        worked.push(key);
        return done;
      },
    });
    controller.watch(t.informer, ({ key }) => [key]);
    const running = controller.run(t.stop.signal);
    await t.clock.settle();
    expect(worked.toSorted()).toEqual(['good', 'told']);
    expect(t.reported[0]).toBe(
      'Node bad is malformed: spec.taints is a string: a list is needed. Correct the named fields; no controller acts on the object until the fields are correct',
    );
    t.stream.event('MODIFIED', { ...fine, metadata: { ...malformed.metadata, resourceVersion: '11' } });
    await t.clock.settle();
    expect(worked).toContain('bad');
    expect([t.informer.malformed, faultText(t.informer.store.get('bad') ?? fine)]).toEqual([1, undefined]);
    expect(t.log.lines.map(({ message }) => message)).toContain('Object is valid again');
    await t.end();
    await running;
  });
});
