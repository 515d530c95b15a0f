import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { badSeccomp, type Check, isSeccompAllowed } from './baseline.ts';
import {
  containersOf,
  context,
  has,
  hasUserNamespace,
  isWindows,
  named,
  plural,
  quoted,
  setters,
  sorted,
} from './words.ts';

const WINDOWS_SINCE = 25;

export const allowPrivilegeEscalation: Check = ({ spec }, minor) => {
  if (minor >= WINDOWS_SINCE && isWindows(spec)) return undefined;
  const bad = containersOf(spec).filter((container) => context(container).allowPrivilegeEscalation !== false);
  if (minor < 8 || bad.length === 0) return undefined;
  return {
    reason: 'allowPrivilegeEscalation != false',
    detail: `${named(bad)} must set securityContext.allowPrivilegeEscalation=false`,
  };
};

export const capabilitiesRestricted: Check = ({ spec }, minor) => {
  if (minor >= WINDOWS_SINCE && isWindows(spec)) return undefined;
  const of = (container: Plain, field: string): string[] => strings(look(context(container), 'capabilities'), field);
  const added = (container: Plain): string[] => of(container, 'add').filter((name) => name !== 'NET_BIND_SERVICE');
  const keeping = containersOf(spec).filter((container) => !of(container, 'drop').includes('ALL'));
  const adding = containersOf(spec).filter((container) => added(container).length > 0);
  const what: string[] = [];
  if (keeping.length > 0) what.push(`${named(keeping)} must set securityContext.capabilities.drop=["ALL"]`);
  if (adding.length > 0) {
    const list = quoted(sorted(adding.flatMap(added)));
    what.push(`${named(adding)} must not include ${list} in securityContext.capabilities.add`);
  }
  return what.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: what.join('; ') };
};

const ALLOWED_VOLUMES =
  'configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret'.split(' ');
const OTHER_VOLUMES =
  'hostPath gcePersistentDisk awsElasticBlockStore gitRepo nfs iscsi glusterfs rbd flexVolume cinder cephfs flocker fc azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO storageos'.split(
    ' ',
  );

export const restrictedVolumes: Check = ({ spec }) => {
  const bad = items(spec, 'volumes').filter((volume) => !ALLOWED_VOLUMES.some((field) => has(volume, field)));
  if (bad.length === 0) return undefined;
  const types = sorted(bad.map((volume) => OTHER_VOLUMES.find((field) => has(volume, field)) ?? 'unknown'));
  const names = quoted(bad.map((volume) => text(volume, 'name')));
  const uses = plural(bad.length, 'uses', 'use');
  return {
    reason: 'restricted volume types',
    detail: `${plural(bad.length, 'volume')} ${names} ${uses} ${plural(types.length, 'restricted volume type')} ${quoted(types)}`,
  };
};

export const runAsNonRoot: Check = ({ spec }, minor) => {
  if (minor >= 35 && hasUserNamespace(spec)) return undefined;
  const reason = 'runAsNonRoot != true';
  const said = (holder: Plain): unknown => context(holder).runAsNonRoot;
  const containers = containersOf(spec);
  const who = setters(
    said(spec) === false,
    containers.filter((container) => said(container) === false),
  );
  if (who !== '') return { reason, detail: `${who} must not set securityContext.runAsNonRoot=false` };
  const silent = containers.filter((container) => typeof said(container) !== 'boolean');
  if (said(spec) === true || silent.length === 0) return undefined;
  return { reason, detail: `pod or ${named(silent)} must set securityContext.runAsNonRoot=true` };
};

export const runAsUser: Check = ({ spec }, minor) => {
  if (minor < 23 || (minor >= 35 && hasUserNamespace(spec))) return undefined;
  const isRoot = (holder: Plain): boolean => context(holder).runAsUser === 0;
  const who = setters(isRoot(spec), containersOf(spec).filter(isRoot));
  return who === '' ? undefined : { reason: 'runAsUser=0', detail: `${who} must not set runAsUser=0` };
};

export const seccompRestricted: Check = ({ spec }, minor) => {
  if (minor >= WINDOWS_SINCE && isWindows(spec)) return undefined;
  const bad = badSeccomp(spec);
  if (bad !== undefined) return bad;
  const own = context(spec).seccompProfile;
  if (isRecord(own) && isSeccompAllowed(own)) return undefined;
  const silent = containersOf(spec).filter((container) => !isRecord(context(container).seccompProfile));
  if (silent.length === 0) return undefined;
  return {
    reason: 'seccompProfile',
    detail: `pod or ${named(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  };
};
