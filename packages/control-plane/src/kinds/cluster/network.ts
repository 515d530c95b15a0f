import { child, items, preset } from '../plain.ts';
import { strategy } from '../workloads/apps.ts';

/** A policy is about incoming traffic, and about outgoing when it says something of that; ports are TCP. */
export const networkPolicyStrategy = strategy({
  setDefaults(object) {
    const spec = child(object, 'spec');
    for (const rule of [...items(spec, 'ingress'), ...items(spec, 'egress')]) {
      for (const port of items(rule, 'ports')) preset(port, 'protocol', 'TCP');
    }
    if (Array.isArray(spec.policyTypes) && spec.policyTypes.length > 0) return;
    spec.policyTypes = items(spec, 'egress').length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
  },
});
