import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { DEFAULT_IN_PLACE_UPDATE, DEFAULT_ROLLING_UPDATE, DEFAULT_STRATEGY } from '../kinds/default-values.ts';
import type { CrdKeywords } from '../kinds/fields.ts';
import { GROUP } from '../kinds/group.ts';
import { crds } from './crds.ts';
import type { CustomResourceDefinition } from './custom-resource-definition.ts';
import { type StructuralSchema, structuralSchema } from './structural-schema.ts';
import { crdFileName, crdYaml } from './yaml.ts';

const DIRECTORY = new URL('../../../../deploy/crds/', import.meta.url);

const byKind = new Map(crds.map((crd) => [crd.spec.names.kind, crd] as const));

function crdOf(kind: string): CustomResourceDefinition {
  const crd = byKind.get(kind);
  if (!crd) throw new Error(`no CRD of ${kind}`);
  return crd;
}

const schemaOf = (crd: CustomResourceDefinition): StructuralSchema => crd.spec.versions[0].schema.openAPIV3Schema;

type Visited = readonly [path: string, schema: StructuralSchema];

function visit(schema: StructuralSchema, path = ''): Visited[] {
  const children: Visited[] = [
    ...Object.entries(schema.properties ?? {}).map(([name, child]): Visited => [`${path}.${name}`, child]),
    ...(schema.additionalProperties ? [[`${path}.*`, schema.additionalProperties] as const] : []),
    ...(schema.items ? [[`${path}[]`, schema.items] as const] : []),
  ];
  return [[path, schema], ...children.flatMap(([inner, child]) => visit(child, inner))];
}

const at = (kind: string, path: string): StructuralSchema => {
  const found = visit(schemaOf(crdOf(kind))).find(([name]) => name === path);
  if (!found) throw new Error(`${kind} has no ${path}`);
  return found[1];
};

const where = (kind: string, holds: (schema: StructuralSchema) => boolean): string[] =>
  visit(schemaOf(crdOf(kind)))
    .filter(([, schema]) => holds(schema))
    .map(([path]) => path);

describe('files', () => {
  test('deploy/crds contains exactly the CRDs of the schemas', () => {
    const ours = readdirSync(DIRECTORY).filter((name) => name.startsWith(`${GROUP}_`));
    expect(ours.sort()).toEqual(crds.map(crdFileName).sort());
    for (const crd of crds) expect(readFileSync(new URL(crdFileName(crd), DIRECTORY), 'utf8')).toBe(crdYaml(crd));
  });

  test('the YAML is equal to the object', () => {
    for (const crd of crds) expect(parse(crdYaml(crd))).toEqual(crd);
  });
});

describe('names and columns', () => {
  test.each([
    ['Machine', 'machines', 'machine', 'mc'],
    ['MachineSet', 'machinesets', 'machineset', 'mcs'],
    ['MachineDeployment', 'machinedeployments', 'machinedeployment', 'mcd'],
    ['MachineClass', 'machineclasses', 'machineclass', 'mcc'],
  ])('%s', (kind, plural, singular, shortName) => {
    const { metadata, spec } = crdOf(kind);
    expect(metadata.name).toBe(`${plural}.machine.sapcloud.io`);
    expect(spec).toMatchObject({ group: 'machine.sapcloud.io', scope: 'Namespaced' });
    expect(spec.names).toEqual({ kind, listKind: `${kind}List`, plural, singular, shortNames: [shortName] });
    expect(spec.versions[0]).toMatchObject({ name: 'v1alpha1', served: true, storage: true });
  });

  test.each<[kind: string, columns: string[]]>([
    [
      'Machine',
      [
        'Status .status.currentStatus.phase',
        'Age .metadata.creationTimestamp',
        'Node .metadata.labels.node',
        'ProviderID .spec.providerID (wide)',
        'BlockedBy .status.blockedBy[0].cause (wide)',
      ],
    ],
    [
      'MachineSet',
      [
        'Desired .spec.replicas',
        'Current .status.replicas',
        'Ready .status.readyReplicas',
        'Age .metadata.creationTimestamp',
        'BlockedBy .status.blockedBy[0].cause (wide)',
      ],
    ],
    [
      'MachineDeployment',
      [
        'Ready .status.readyReplicas',
        'Desired .spec.replicas',
        'Up-to-date .status.updatedReplicas',
        'Available .status.availableReplicas',
        'Age .metadata.creationTimestamp',
        'BlockedBy .status.blockedBy[0].cause (wide)',
      ],
    ],
    ['MachineClass', []],
  ])('%s', (kind, columns) => {
    const shown = crdOf(kind).spec.versions[0].additionalPrinterColumns ?? [];
    expect(
      shown.map(({ name, jsonPath, priority }) => `${name} ${jsonPath}${priority === 1 ? ' (wide)' : ''}`),
    ).toEqual(columns);
  });

  test('machines have a status subresource, and sets and deployments also have a scale', () => {
    const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
    expect(crds.map((crd) => crd.spec.versions[0].subresources)).toEqual([
      { status: {} },
      { status: {}, scale },
      { status: {}, scale },
      undefined,
    ]);
  });
});

describe.each(crds.map((crd) => [crd.spec.names.kind, schemaOf(crd)] as const))('%s is structural', (kind, root) => {
  const all = visit(root);

  test('every schema has a type, except int-or-string, which has two alternatives', () => {
    for (const [path, schema] of all) {
      if (schema['x-kubernetes-int-or-string']) {
        expect([path, schema.type, schema.anyOf]).toEqual([path, undefined, [{ type: 'integer' }, { type: 'string' }]]);
      } else {
        expect([path, schema.type]).toEqual([path, expect.any(String)]);
        expect(schema.anyOf).toBeUndefined();
      }
    }
  });

  test('objects have properties or additionalProperties, never both; required fields exist', () => {
    for (const [path, schema] of all) {
      expect([path, schema.properties !== undefined && schema.additionalProperties !== undefined]).toEqual([
        path,
        false,
      ]);
      for (const name of schema.required ?? []) expect(Object.keys(schema.properties ?? {})).toContain(name);
      if (schema.type === 'array') expect([path, schema.items]).toEqual([path, expect.any(Object)]);
    }
  });

  test('metadata only limits the length of the name', () => {
    const { properties = {}, ...rest } = root.properties?.metadata ?? {};
    expect(rest).toEqual({ type: 'object' });
    expect(Object.keys(properties)).toEqual(kind === 'Machine' ? ['name'] : []);
  });

  test('every field that is declared has a description', () => {
    const silent = all.filter(([path, schema]) => !schema.description && !/(\*|\[\]|^|^\.metadata.*)$/.test(path));
    expect(silent.map(([path]) => path)).toEqual([]);
  });

  test('messages of rules contain the allowed values, their fields exist, and patterns compile', () => {
    for (const [path, schema] of all) {
      for (const { rule, message, fieldPath } of schema['x-kubernetes-validations'] ?? []) {
        expect(rule).not.toMatch(/\n/);
        expect([path, message]).toEqual([path, expect.stringMatching(/must/)]);
        if (fieldPath) expect(all.map(([name]) => name)).toContain(path + fieldPath);
      }
      if (schema.pattern) expect(() => new RegExp(schema.pattern ?? '')).not.toThrow();
    }
  });

  test('the status has only types and no rules, so that the server never refuses a controller', () => {
    const bounds: (keyof CrdKeywords | 'enum' | 'minLength')[] = [
      'pattern',
      'minimum',
      'maximum',
      'maxLength',
      'maxItems',
      'x-kubernetes-validations',
      'enum',
      'minLength',
    ];
    const bound = all.filter(
      ([path, schema]) => path.startsWith('.status') && bounds.some((keyword) => schema[keyword] !== undefined),
    );
    expect(bound.map(([path]) => path)).toEqual([]);
  });
});

describe('compatible with the original', () => {
  const open = (schema: StructuralSchema): boolean => schema['x-kubernetes-preserve-unknown-fields'] === true;

  test('every field of the CRDs of machine-controller-manager at 54caf54 exists with its type', () => {
    const lines = readFileSync(new URL('testdata/original-fields.txt', import.meta.url), 'utf8')
      .trim()
      .split('\n');
    const ours = crds.flatMap((crd) =>
      visit(schemaOf(crd)).map(([path, schema]) => `${crd.spec.names.kind}${path} ${schema.type ?? 'int-or-string'}`),
    );
    expect(lines.length).toBeGreaterThan(200);
    expect(lines.filter((line) => !ours.includes(line))).toEqual([]);
  });

  test('unknown fields are kept exactly where the original keeps them', () => {
    const template = ['.spec.template.metadata', '.spec.template.spec.nodeTemplate.metadata'];
    expect(where('MachineDeployment', open)).toEqual(expect.arrayContaining(template));
    expect(where('MachineDeployment', open)).toHaveLength(2);
    expect(where('MachineSet', open)).toHaveLength(2);
    expect(where('Machine', open)).toEqual(['.spec.nodeTemplate.metadata']);
    expect(where('MachineClass', open).sort()).toEqual(['.nodeTemplate', '.providerSpec']);
  });

  test('lists and maps are merged as by the original', () => {
    expect(where('MachineSet', (schema) => schema['x-kubernetes-map-type'] === 'atomic')).toEqual(['.spec.selector']);
    expect(where('MachineClass', (schema) => schema['x-kubernetes-map-type'] === 'atomic').sort()).toEqual([
      '.credentialsSecretRef',
      '.secretRef',
    ]);
    expect(at('Machine', '.spec.nodeTemplate.spec.taints')['x-kubernetes-list-type']).toBe('atomic');
    expect(at('Machine', '.spec.nodeTemplate.spec.podCIDRs')['x-kubernetes-list-type']).toBe('set');
    expect(at('Machine', '.status.conditions')['x-kubernetes-list-type']).toBeUndefined();
  });

  test('the defaults are exactly those that the code applies', () => {
    const defaults = where('MachineDeployment', (schema) => schema.default !== undefined);
    expect(Object.fromEntries(defaults.map((path) => [path, at('MachineDeployment', path).default]))).toEqual({
      '.spec.replicas': 0,
      '.spec.strategy': DEFAULT_STRATEGY,
      '.spec.strategy.type': DEFAULT_STRATEGY.type,
      '.spec.strategy.rollingUpdate.maxSurge': DEFAULT_ROLLING_UPDATE.maxSurge,
      '.spec.strategy.rollingUpdate.maxUnavailable': DEFAULT_ROLLING_UPDATE.maxUnavailable,
      '.spec.strategy.inPlaceUpdate.maxSurge': DEFAULT_IN_PLACE_UPDATE.maxSurge,
      '.spec.strategy.inPlaceUpdate.maxUnavailable': DEFAULT_IN_PLACE_UPDATE.maxUnavailable,
    });
    expect(where('MachineSet', (schema) => schema.default !== undefined)).toEqual(['.spec.replicas']);
    expect(where('Machine', (schema) => schema.default !== undefined)).toEqual([]);
    expect(where('MachineClass', (schema) => schema.default !== undefined)).toEqual([]);
  });

  test('the legacy class of a set may be empty', () => {
    expect(at('MachineSet', '.spec.machineClass').required).toBeUndefined();
    expect(at('MachineSet', '.spec.machineClass')['x-kubernetes-validations']).toBeUndefined();
  });
});

describe('conversion', () => {
  test.each<[title: string, schema: z.ZodType, message: string]>([
    [
      'a union that is not an int-or-string',
      z.object({ a: z.union([z.string(), z.boolean()]) }),
      '.a: only int-or-string',
    ],
    ['a tuple', z.object({ a: z.tuple([z.string()]) }), '.a'],
    ['a keyword that CRDs lack', z.object({ a: z.number().multipleOf(2) }), '.a: the keyword multipleOf'],
  ])('refuses %s', (_title, schema, message) => {
    expect(() => structuralSchema(schema)).toThrow(message);
  });
});
