import { type UndiciTransport, undiciTransport } from '@mcm/kube';
import type { HookWebhook } from './config.ts';

/**
 * Creates an HTTPS transport to a webhook. The transport verifies the certificate of the webhook, and follows no
 * redirects.
 */
export const connectWebhook = ({ url, ca }: Pick<HookWebhook, 'url' | 'ca'>): UndiciTransport =>
  undiciTransport({ server: url.origin, ca });
