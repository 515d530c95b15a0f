import { forbidden, notAdmitted, notFound } from '../apimachinery/errors/errors.ts';
import type { AdmissionPlugin } from '../resources/admission.ts';
import type { Registry } from '../resources/registry.ts';

const NAMESPACES = '/namespaces';
const IMMORTAL = new Set(['default', 'kube-system', 'kube-public']);

/** NamespaceLifecycle refuses new objects in a namespace that is missing or is being deleted. */
export const namespaceLifecycle = (registry: Registry): AdmissionPlugin => ({
  name: 'NamespaceLifecycle',
  admit: ({ operation, served, namespace, name, object }) => {
    if (operation === 'DELETE' && served.resource === NAMESPACES && IMMORTAL.has(name)) {
      throw forbidden(served.kind, name, 'this namespace may not be deleted');
    }
    if (operation !== 'CREATE' || !served.kind.namespaced || served.kind.verbs?.includes('list') === false) {
      return undefined;
    }
    const record = registry.store.get(NAMESPACES, '', namespace);
    if (record === undefined) throw notFound({ group: '', plural: 'namespaces' }, namespace);
    // A namespace is terminating only if its JSON text contains `deletionTimestamp`, so the plugin does not parse most
    // texts.
    if (!record.json.includes('"deletionTimestamp"')) return undefined;
    const { metadata } = JSON.parse(record.json) as { metadata: { deletionTimestamp?: string } };
    if (metadata.deletionTimestamp === undefined) return undefined;
    throw notAdmitted(
      { served, name, object },
      `unable to create new content in namespace ${namespace} because it is being terminated`,
      [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${namespace} is being terminated`,
          field: 'metadata.namespace',
        },
      ],
    );
  },
});
