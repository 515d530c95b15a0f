import { type UndiciTransport, undiciTransport } from '@mcm/kube';
import type { HookWebhook } from './config.ts';

/** The transport verifies the certificate of the server, and follows no redirect. */
export const connectWebhook = ({ url, ca }: Pick<HookWebhook, 'url' | 'ca'>): UndiciTransport =>
  undiciTransport({ server: url.origin, ca });
