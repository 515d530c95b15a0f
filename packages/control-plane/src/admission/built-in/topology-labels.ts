import { look, text } from '../../apimachinery/objects/plain.ts';
import type { AdmissionPlugin } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';

const TOPOLOGY = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];

/** PodTopologyLabels copies the topology labels of a node to its pods and their Bindings. */
export const topologyLabels = (registry: Registry): AdmissionPlugin => ({
  name: 'PodTopologyLabels',
  admit({ served, subresource, operation, object }) {
    if (served.resource !== '/pods' || object === undefined) return undefined;
    if (operation !== 'CREATE' && operation !== 'UPDATE') return undefined;
    const target = look(object, 'target');
    const isBinding = subresource === 'binding' && text(target, 'kind') === 'Node';
    if (subresource !== '' && !isBinding) return undefined;
    const name = isBinding ? text(target, 'name') : text(look(object, 'spec'), 'nodeName');
    const labels = name === '' ? undefined : registry.store.get('/nodes', '', name)?.labels;
    for (const key of labels === undefined ? [] : TOPOLOGY) {
      const value = labels?.[key];
      if (value !== undefined) object.metadata.labels = { ...object.metadata.labels, [key]: value };
    }
    return undefined;
  },
});
