import { afterEach, describe, expect, it, vi } from 'vitest';
import type { KindDefinition } from '../apimachinery/objects/kind.ts';
import { builtinKinds } from '../kinds/index.ts';
import { KindRegistry } from '../resources/kind-registry.ts';
import { ApiDocuments } from './api-documents.ts';

vi.mock(import('../openapi/index.ts'), async (original) => {
  const made = await original();
  return {
    ...made,
    openApiV2Piece: vi.fn(made.openApiV2Piece),
    openApiV3: vi.fn(made.openApiV3),
    fingerprint: vi.fn(made.fingerprint),
  };
});
vi.mock(import('../discovery/documents.ts'), async (original) => {
  const made = await original();
  return { ...made, aggregatedVersion: vi.fn(made.aggregatedVersion) };
});
const openapi = await import('../openapi/index.ts');
const discovery = await import('../discovery/documents.ts');
const makers = [openapi.openApiV2Piece, openapi.openApiV3, openapi.fingerprint, discovery.aggregatedVersion];

afterEach(() => vi.clearAllMocks());

const custom = (group: string, version = 'v1', plural = 'things'): KindDefinition => ({
  group,
  version,
  kind: `${plural.charAt(0).toUpperCase()}${plural.slice(1)}`,
  listKind: `${plural}List`,
  plural,
  singular: plural,
  namespaced: true,
  custom: true,
  schema: { type: 'object' },
});

function askAll(documents: ApiDocuments, kinds: KindRegistry): Record<string, string> {
  const asked: Record<string, string> = {
    v2: documents.openApiV2(),
    v3: documents.openApiV3Index(),
    api: documents.aggregated(true),
    apis: documents.aggregated(false),
  };
  for (const { name, versions } of kinds.groups()) {
    for (const version of versions) asked[`${name}/${version}`] = documents.openApiV3(name, version) ?? '';
  }
  return asked;
}

describe('after a change of a CRD', () => {
  it.each([2, 12])('among %i others, only the documents of the changed group version are created again', (others) => {
    const kinds = new KindRegistry(builtinKinds);
    const documents = new ApiDocuments(kinds);
    for (let i = 0; i < others; i++) kinds.setCustom(`things.g${i}.dev`, [custom(`g${i}.dev`)]);
    kinds.setCustom('things.mine.dev', [custom('mine.dev')]);
    askAll(documents, kinds);
    vi.clearAllMocks();
    askAll(documents, kinds);
    expect(makers.map((maker) => vi.mocked(maker).mock.calls.length)).toEqual([0, 0, 0, 0]);
    kinds.setCustom('things.mine.dev', [custom('mine.dev'), custom('mine.dev', 'v2')]);
    askAll(documents, kinds);
    expect(makers.map((maker) => vi.mocked(maker).mock.calls.length)).toEqual([2, 2, 2, 2]);
  });

  it('after a change of a CRD, the documents are equal to those of a server that always had the same kinds', () => {
    const kinds = new KindRegistry(builtinKinds);
    const documents = new ApiDocuments(kinds);
    const change = (group: string, of: readonly KindDefinition[]) => kinds.setCustom(`things.${group}`, of);
    change('a.dev', [custom('a.dev', 'v1beta1')]);
    change('b.dev', [custom('b.dev')]);
    change('apps', [custom('apps', 'v1', 'gadgets'), custom('apps', 'v9')]);
    askAll(documents, kinds);
    change('a.dev', [custom('a.dev', 'v1'), custom('a.dev', 'v1beta1')]);
    change('b.dev', []);
    change('apps', [custom('apps', 'v1', 'gadgets')]);
    const fresh = new KindRegistry(builtinKinds);
    fresh.setCustom('things.a.dev', [custom('a.dev', 'v1'), custom('a.dev', 'v1beta1')]);
    fresh.setCustom('things.apps', [custom('apps', 'v1', 'gadgets')]);
    expect(askAll(documents, kinds)).toEqual(askAll(new ApiDocuments(fresh), fresh));
    expect(kinds.groups().map(({ name }) => name)).not.toContain('b.dev');
    expect(documents.openApiV3('b.dev', 'v1')).toBeUndefined();
    expect(kinds.versionsOf('a.dev', 'things').map(({ kind }) => kind.version)).toEqual(['v1', 'v1beta1']);
  });
});

describe('the OpenAPI v2 document', () => {
  it('the OpenAPI v2 document contains the same definition in every group version that needs it', () => {
    const groups = Map.groupBy(builtinKinds, ({ group, version }) => `${group}/${version}`);
    const pieces = [...groups.values()].map((kinds) => JSON.parse(openapi.openApiV2([openapi.openApiV2Piece(kinds)])));
    const whole = JSON.parse(openapi.openApiV2([openapi.openApiV2Piece(builtinKinds)]));
    const merged = JSON.parse(openapi.openApiV2([...groups.values()].map((kinds) => openapi.openApiV2Piece(kinds))));
    expect(merged).toEqual(whole);
    expect(Object.keys(whole.paths).length).toBe(pieces.reduce((sum, { paths }) => sum + Object.keys(paths).length, 0));
  });
});
