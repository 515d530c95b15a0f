import { describe, expect, it } from 'vitest';
import type { KindDefinition } from '../apimachinery/objects/kind.ts';
import { builtinKinds } from '../kinds/index.ts';
import { fingerprint, openApiV2, openApiV2Piece, openApiV3, openApiV3Index } from './index.ts';

const custom: KindDefinition = {
  group: 'g.example.dev',
  version: 'v1',
  kind: 'Thing',
  listKind: 'ThingList',
  plural: 'things',
  singular: 'thing',
  namespaced: true,
  custom: true,
  schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { size: { type: 'integer', default: 1, description: 'How big.' } } },
    },
  },
  subresources: { status: true, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
};

interface Document {
  paths: Record<
    string,
    Record<string, { operationId?: string; parameters?: { name: string }[] } & Record<string, unknown>>
  >;
  components: {
    schemas: Record<string, Record<string, unknown> & { properties?: Record<string, Record<string, unknown>> }>;
  };
}
// The type of the returned document is JSON, so the test declares the structure of the document.
const document = (group: string, version: string): Document =>
  openApiV3(
    [...builtinKinds, custom].filter((kind) => kind.group === group && kind.version === version),
  ) as unknown as Document;

describe('the index', () => {
  const paths = (kinds: readonly KindDefinition[]): Record<string, { serverRelativeURL: string }> => {
    const entries = kinds.map(({ group, version }) => ({
      group,
      version,
      hash: fingerprint(kinds.filter((kind) => kind.group === group && kind.version === version)),
    }));
    // The type of the returned index is JSON, so the test declares the structure of the index.
    return (openApiV3Index(entries) as unknown as { paths: Record<string, { serverRelativeURL: string }> }).paths;
  };

  it('has one hashed url per group version, which changes when the schema does', () => {
    const before = paths([custom])['apis/g.example.dev/v1']?.serverRelativeURL;
    expect(before).toMatch(/^\/openapi\/v3\/apis\/g\.example\.dev\/v1\?hash=[0-9A-F]+$/);
    expect(paths([{ ...custom, schema: { type: 'object' } }])['apis/g.example.dev/v1']?.serverRelativeURL).not.toBe(
      before,
    );
    expect(paths(builtinKinds)['api/v1']?.serverRelativeURL).toMatch(/^\/openapi\/v3\/api\/v1\?hash=/);
  });
});

describe('a document', () => {
  it('the document of a custom group has its paths, operations and schemas', () => {
    const { paths, components } = document('g.example.dev', 'v1');
    const item = '/apis/g.example.dev/v1/namespaces/{namespace}/things/{name}';
    expect(Object.keys(paths).sort()).toEqual([
      '/apis/g.example.dev/v1/namespaces/{namespace}/things',
      item,
      `${item}/scale`,
      `${item}/status`,
      '/apis/g.example.dev/v1/things',
    ]);
    expect(paths[item]?.get?.operationId).toBe('readGExampleDevV1NamespacedThing');
    expect(paths[item]?.patch).toMatchObject({
      'x-kubernetes-action': 'patch',
      'x-kubernetes-group-version-kind': { group: 'g.example.dev', version: 'v1', kind: 'Thing' },
    });
    // kubectl reads these parameters before a dry run, or before a validation on the server.
    const parameters = paths[item]?.patch?.parameters?.map(({ name }) => name);
    expect(parameters).toEqual(expect.arrayContaining(['dryRun', 'fieldValidation', 'fieldManager', 'force']));
    expect(components.schemas['dev.example.g.v1.Thing']?.properties?.spec).toMatchObject({
      properties: { size: { type: 'integer', default: 1, description: 'How big.' } },
    });
    expect(components.schemas['dev.example.g.v1.ThingList']).toBeDefined();
  });

  it('the document of core refers to shared definitions and contains how lists are merged', () => {
    const { schemas } = document('', 'v1').components;
    expect(schemas['io.k8s.api.core.v1.PodSpec']?.properties?.containers).toMatchObject({
      type: 'array',
      items: { allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.Container' }], default: {} },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-patch-merge-key': 'name',
      'x-kubernetes-patch-strategy': 'merge',
    });
    expect(schemas['io.k8s.api.core.v1.ConfigMap']).toMatchObject({
      'x-kubernetes-group-version-kind': [{ group: '', kind: 'ConfigMap', version: 'v1' }],
      properties: { data: { type: 'object', additionalProperties: { type: 'string', default: '' } } },
    });
  });

  it('a document contains allowed values, texts with their line breaks, and the names of shared scalars', () => {
    const { schemas } = document('', 'v1').components;
    const ofContainer = schemas['io.k8s.api.core.v1.Container']?.properties ?? {};
    expect(ofContainer.imagePullPolicy).toMatchObject({ type: 'string', enum: ['Always', 'IfNotPresent', 'Never'] });
    expect((ofContainer.imagePullPolicy as { description: string }).description).toContain(
      '\n\nPossible enum values:\n - `"Always"`',
    );
    expect(schemas['io.k8s.api.core.v1.PersistentVolumeClaimSpec']?.properties?.accessModes).toMatchObject({
      items: { enum: ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'] },
    });
    const refersTo = (name: string) => ({ allOf: [{ $ref: `#/components/schemas/io.k8s.apimachinery.pkg.${name}` }] });
    expect(schemas['io.k8s.api.core.v1.HTTPGetAction']?.properties?.port).toMatchObject(
      refersTo('util.intstr.IntOrString'),
    );
    const meta = schemas['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta']?.properties;
    expect(meta?.creationTimestamp).toMatchObject(refersTo('apis.meta.v1.Time'));
    expect(schemas['io.k8s.apimachinery.pkg.apis.meta.v1.Time']).toMatchObject({ type: 'string', format: 'date-time' });
    expect(schemas['io.k8s.apimachinery.pkg.api.resource.Quantity']).toMatchObject({
      oneOf: [{ type: 'string' }, { type: 'number' }],
    });
  });

  it('a document contains all definitions that it refers to, in every group version', () => {
    for (const { group, version } of builtinKinds) {
      const { schemas } = document(group, version).components;
      const references = JSON.stringify(document(group, version)).matchAll(/"#\/components\/schemas\/([^"]+)"/g);
      const dangling = [...references].map(([, name]) => name ?? '').filter((name) => schemas[name] === undefined);
      expect(dangling, `${group}/${version}`).toEqual([]);
    }
  });
});

describe('OpenAPI v2', () => {
  it('OpenAPI v2 has all kinds, with plain references', () => {
    const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;
    const open = { ...custom, kind: 'Open', listKind: 'OpenList', plural: 'opens', schema };
    const { definitions } = JSON.parse(openApiV2([openApiV2Piece(builtinKinds), openApiV2Piece([custom, open])])) as {
      definitions: Document['components']['schemas'];
    };
    expect(definitions['io.k8s.api.core.v1.Pod']?.properties?.spec).toMatchObject({
      $ref: '#/definitions/io.k8s.api.core.v1.PodSpec',
    });
    expect(definitions['dev.example.g.v1.Thing']).toBeDefined();
    expect(definitions['dev.example.g.v1.Open'], 'kubectl refuses unknown fields of a schema with properties').toEqual({
      type: 'object',
      'x-kubernetes-group-version-kind': [{ group: 'g.example.dev', version: 'v1', kind: 'Open' }],
    });
    const text = JSON.stringify(definitions);
    for (const [, name = ''] of text.matchAll(/"#\/definitions\/([^"]+)"/g))
      expect(definitions[name], name).toBeDefined();
  });
});
