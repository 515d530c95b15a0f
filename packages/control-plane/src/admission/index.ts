import type { Registry } from '../registry/registry.ts';
import { validatingPolicies } from './policy/plugin.ts';
import { mutatingWebhooks, validatingWebhooks } from './webhook/plugins.ts';
import { httpsTransport, type WebhookTransport } from './webhook/transport.ts';

export type { WebhookCall, WebhookReply, WebhookTransport } from './webhook/transport.ts';

/**
 * Adds what users extend admission by: webhooks and policies. It comes after all other plugins, in the order of the real server. Where there are none,
 * a request costs nothing.
 */
export function setUpAdmission(registry: Registry, transport: WebhookTransport = httpsTransport): void {
  registry.admission.add(mutatingWebhooks(registry, transport));
  registry.admission.add(validatingPolicies(registry));
  registry.admission.add(validatingWebhooks(registry, transport));
}
