import { stringify } from 'yaml';
import { yamlStream } from '../../output/format.ts';
import { isConfigMonitor } from '../objects/monitoring.ts';
import { installSections } from '../objects/objects.ts';
import { DEFAULT_INSTALL, NOT_IN_FLEET, separated } from '../objects/settings.ts';

/** Returns the files for kustomize, by their path in the folder. */
export function kustomizeFiles(): ReadonlyMap<string, string> {
  const sections = installSections(DEFAULT_INSTALL);
  const base = sections.filter(({ optional }) => optional !== true);
  const files = new Map(base.map(({ name, objects }): [string, string] => [`base/${name}.yaml`, yamlStream(objects)]));
  const list = (kind: string, version: string, resources: readonly string[], patches: readonly object[] = []): string =>
    stringify({
      apiVersion: `kustomize.config.k8s.io/${version}`,
      kind,
      resources,
      patches: patches.length === 0 ? undefined : patches,
    });
  files.set(
    'base/kustomization.yaml',
    list(
      'Kustomization',
      'v1beta1',
      base.map(({ name }) => `${name}.yaml`),
    ),
  );
  const optional = sections.filter((section) => section.optional === true);
  for (const { name, objects } of optional.flatMap(({ name, objects }) => componentsOf(name, objects))) {
    files.set(`${name}/${name}.yaml`, yamlStream(objects));
    const patches = PATCHES[name]?.() ?? [];
    files.set(`${name}/kustomization.yaml`, list('Component', 'v1alpha1', [`${name}.yaml`], patches));
  }
  return files;
}

interface Component {
  readonly name: string;
  readonly objects: readonly object[];
}

/**
 * Returns the components of an optional part. The monitor of the machine-config-controller is a separate component,
 * because kustomize cannot decide whether the overlay contains the component `machine-config`.
 */
function componentsOf(name: string, objects: readonly object[]): readonly Component[] {
  if (!objects.some(isConfigMonitor)) return [{ name, objects }];
  return [
    { name, objects: objects.filter((object) => !isConfigMonitor(object)) },
    { name: `${name}-machine-config`, objects: objects.filter(isConfigMonitor) },
  ];
}

interface Identified {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface Operation {
  readonly op: 'replace' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

/** Returns true for an object or a list. */
const isNested = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/**
 * Returns JSON patch operations that change `before` to `after`. The value `after` must not have more fields or items
 * than `before`.
 */
function changes(before: unknown, after: unknown, path = ''): readonly Operation[] {
  if (!isNested(before) || !isNested(after) || Array.isArray(before) !== Array.isArray(after))
    return before === after ? [] : [{ op: 'replace', path, value: after }];
  // Items are removed from the end of a list, so the indexes of the remaining items stay valid.
  return Object.keys(before)
    .toReversed()
    .flatMap((key): readonly Operation[] => {
      const at = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      return key in after ? changes(before[key], after[key], at) : [{ op: 'remove', path: at }];
    });
}

/**
 * Returns patches that remove the machine controller from the pods of the manager. If the object of a patch does not
 * exist, kustomize ignores the patch.
 */
function separatingPatches(): readonly object[] {
  const keyOf = ({ kind, metadata }: Identified): string => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
  const all = (settings: typeof DEFAULT_INSTALL): ReadonlyMap<string, Identified> => {
    const objects: Identified[] = JSON.parse(
      JSON.stringify(installSections(settings).flatMap(({ name, objects }) => (name === 'fleet' ? [] : objects))),
    );
    return new Map(objects.map((object) => [keyOf(object), object]));
  };
  const separate = all(separated(DEFAULT_INSTALL));
  return [...all(DEFAULT_INSTALL)].flatMap(([key, object]) => {
    const operations = changes(object, separate.get(key));
    if (operations.length === 0) return [];
    const { kind, metadata } = object;
    return [
      { target: { kind, name: metadata.name.replaceAll('.', '\\.') }, patch: stringify(operations, { lineWidth: 0 }) },
    ];
  });
}

/**
 * Returns patches that remove the objects that a fleet does not need. If the object of a patch does not exist,
 * kustomize ignores the patch.
 */
function fleetPatches(): readonly object[] {
  const objects: Identified[] = JSON.parse(
    JSON.stringify(
      installSections(DEFAULT_INSTALL).flatMap((section) =>
        NOT_IN_FLEET.includes(section.name) ? section.objects : [],
      ),
    ),
  );
  return objects.map(({ apiVersion, kind, metadata: { name, namespace } }) => ({
    target: { kind, name: `^${name.replaceAll('.', '\\.')}$` },
    patch: stringify({ apiVersion, kind, metadata: { name, namespace }, $patch: 'delete' }),
  }));
}

const PATCHES: Readonly<Record<string, () => readonly object[]>> = {
  'separate-controller': separatingPatches,
  fleet: fleetPatches,
};
