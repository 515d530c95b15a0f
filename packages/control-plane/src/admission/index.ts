import type { Registry } from '../resources/registry.ts';
import { limitRanger } from './limits/plugin.ts';
import { nodeRestriction } from './node/plugin.ts';
import { podSecurity } from './pod-security/plugin.ts';
import { mutatingPolicies } from './policy/mutating.ts';
import { validatingPolicies } from './policy/plugin.ts';
import { resourceQuota } from './quota/plugin.ts';
import { mutatingWebhooks, validatingWebhooks } from './webhook/plugins.ts';
import { httpsTransport, type WebhookTransport } from './webhook/transport.ts';

export type { WebhookTransport } from './webhook/transport.ts';

/** Adds the admission plugins for limits, pod security, webhooks, policies and quotas. */
export function setUpAdmission(registry: Registry, transport: WebhookTransport = httpsTransport): void {
  registry.admission.add(limitRanger(registry));
  registry.admission.add(nodeRestriction(registry));
  registry.admission.add(podSecurity(registry));
  registry.admission.add(mutatingPolicies(registry));
  registry.admission.add(mutatingWebhooks(registry, transport));
  registry.admission.add(validatingPolicies(registry));
  registry.admission.add(validatingWebhooks(registry, transport));
  registry.admission.add(resourceQuota(registry));
}
