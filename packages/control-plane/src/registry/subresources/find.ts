import type { ServedKind } from '../../resources/kind-registry.ts';
import type { SubresourceHandler } from '../../resources/subresource.ts';
import { bindPod } from './binding.ts';
import { nodeProxy, podLog, podProxy, podStream, serviceProxy } from './connect.ts';
import { evictPod } from './eviction.ts';
import { finalizeNamespace } from './finalize.ts';
import { partUpdate } from './part-update.ts';
import { scale } from './scale.ts';
import { requestToken } from './token.ts';

const HANDLERS: Readonly<Record<string, SubresourceHandler>> = {
  'pods/binding': bindPod,
  'pods/eviction': evictPod,
  'pods/ephemeralcontainers': partUpdate,
  'pods/resize': partUpdate,
  'pods/log': podLog,
  'pods/exec': podStream,
  'pods/attach': podStream,
  'pods/portforward': podStream,
  'pods/proxy': podProxy,
  'services/proxy': serviceProxy,
  'nodes/proxy': nodeProxy,
  'serviceaccounts/token': requestToken,
  'namespaces/finalize': finalizeNamespace,
  'certificatesigningrequests/approval': partUpdate,
};

export function findSubresource({ kind }: ServedKind, name: string): SubresourceHandler | undefined {
  if (name === 'scale') return kind.subresources?.scale === undefined ? undefined : scale;
  if (kind.custom || kind.otherSubresources?.includes(name) !== true) return undefined;
  return HANDLERS[`${kind.plural}/${name}`];
}
