import type { ResourceKind } from './model.ts';

export interface Label {
  readonly method: string;
  readonly kind:
    | ResourceKind
    | 'instanceView'
    | 'deallocate'
    | 'start'
    | 'subnets'
    | 'tags'
    | 'operations'
    | 'graph'
    | 'resourceGroups'
    | 'images'
    | 'agreements'
    | 'lists'
    | 'token'
    | 'none';
}

const PATTERNS: readonly (readonly [RegExp, Label['kind']])[] = [
  [/^\/operations\/[^/]+$/, 'operations'],
  [/\/providers\/Microsoft\.ResourceGraph\/resources$/i, 'graph'],
  [/\/(oauth2\/v2\.0\/token|v2\.0\/\.well-known\/openid-configuration)$/, 'token'],
  [/\/providers\/Microsoft\.Resources\/tags\/default$/i, 'tags'],
  [/\/virtualNetworks\/[^/]+\/subnets\/[^/]+$/i, 'subnets'],
  [/\/artifacttypes\/vmimage\/offers\//i, 'images'],
  [/\/Microsoft\.MarketplaceOrdering\/.*\/agreements\/current$/i, 'agreements'],
  [/^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+$/i, 'resourceGroups'],
  [/\/Microsoft\.Compute\/virtualMachines\/[^/]+\/instanceView$/i, 'instanceView'],
  [/\/Microsoft\.Compute\/virtualMachines\/[^/]+\/deallocate$/i, 'deallocate'],
  [/\/Microsoft\.Compute\/virtualMachines\/[^/]+\/start$/i, 'start'],
  [/\/Microsoft\.Compute\/virtualMachines\/[^/]+$/i, 'virtualMachines'],
  [/\/Microsoft\.Compute\/disks\/[^/]+$/i, 'disks'],
  [/\/Microsoft\.Network\/networkInterfaces\/[^/]+$/i, 'networkInterfaces'],
  [/\/Microsoft\.(Compute\/(virtualMachines|disks)|Network\/networkInterfaces)$/i, 'lists'],
];

export const labelOf = (method: string, path: string): Label => ({
  method,
  kind: PATTERNS.find(([pattern]) => pattern.test(path))?.[1] ?? 'none',
});

export function pathOf(path: string): { readonly group: string; readonly name: string } {
  const [, group = ''] = /\/resourceGroups\/([^/]+)/i.exec(path) ?? [];
  return { group: decodeURIComponent(group), name: decodeURIComponent(path.split('/').at(-1) ?? '') };
}
