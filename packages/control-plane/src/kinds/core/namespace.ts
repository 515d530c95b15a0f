import type { ApiObject } from '../../object.ts';
import { labelProblems } from '../../registry/names.ts';
import { strings } from '../plain.ts';
import { strategy } from '../workloads/apps.ts';

const NAME_LABEL = 'kubernetes.io/metadata.name';

/** Every namespace can be selected by its name. */
function labelWithName(namespace: ApiObject): void {
  const { name } = namespace.metadata;
  if (name === undefined || name === '') return;
  namespace.metadata.labels = { ...namespace.metadata.labels, [NAME_LABEL]: name };
}

export const namespaceStrategy = strategy({
  setDefaults: labelWithName,
  prepareForCreate(namespace) {
    labelWithName(namespace);
    const kept = strings(namespace.spec, 'finalizers').filter((finalizer) => finalizer !== 'kubernetes');
    namespace.spec = { finalizers: [...kept, 'kubernetes'] };
    namespace.status = { phase: 'Active' };
  },
  prepareForUpdate(namespace, old, { subresource }) {
    labelWithName(namespace);
    // Finalizers of the spec change through the finalize subresource alone.
    if (subresource !== 'finalize' && old.spec !== undefined) namespace.spec = old.spec;
  },
  validateName: labelProblems,
});
