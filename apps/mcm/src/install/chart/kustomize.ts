import { stringify } from 'yaml';
import { yamlStream } from '../../output/format.ts';
import { installSections } from '../objects/objects.ts';
import { DEFAULT_INSTALL } from '../objects/settings.ts';

/** Files of the kustomize base, by path in its folder. Each optional part is a component. */
export function kustomizeFiles(): ReadonlyMap<string, string> {
  const sections = installSections(DEFAULT_INSTALL);
  const base = sections.filter(({ optional }) => optional !== true);
  const files = new Map(base.map(({ name, objects }): [string, string] => [`base/${name}.yaml`, yamlStream(objects)]));
  const list = (kind: string, version: string, resources: readonly string[]): string =>
    stringify({ apiVersion: `kustomize.config.k8s.io/${version}`, kind, resources });
  files.set(
    'base/kustomization.yaml',
    list(
      'Kustomization',
      'v1beta1',
      base.map(({ name }) => `${name}.yaml`),
    ),
  );
  for (const { name, objects } of sections.filter(({ optional }) => optional === true)) {
    files.set(`${name}/${name}.yaml`, yamlStream(objects));
    files.set(`${name}/kustomization.yaml`, list('Component', 'v1alpha1', [`${name}.yaml`]));
  }
  return files;
}
