import { Findings } from '../../../apimachinery/errors/findings.ts';
import { labelProblems, subdomainProblems } from '../../../apimachinery/errors/names.ts';
import { items, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { sourceFindings } from './volume-sources.ts';

const SOURCES = [
  'emptyDir',
  'hostPath',
  'gitRepo',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'secret',
  'nfs',
  'iscsi',
  'glusterfs',
  'flocker',
  'persistentVolumeClaim',
  'rbd',
  'cinder',
  'cephfs',
  'quobyte',
  'downwardAPI',
  'fc',
  'flexVolume',
  'configMap',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'storageos',
  'projected',
  'scaleIO',
  'csi',
  'ephemeral',
  'image',
];
export const ONE_TYPE = 'may not specify more than 1 volume type';

export const SECOND_NAMES: ReadonlyMap<string, string> = new Map([
  ['cephfs', 'cephFS'],
  ['downwardAPI', 'downwarAPI'],
]);

/** Validates the claim name of an ephemeral volume, which consists of the names of the pod and the volume. */
function claimNameFindings(findings: Findings, name: string, podName: string, at: string): void {
  if (podName === '' || name === '') return;
  const claim = `${podName}-${name}`;
  for (const problem of subdomainProblems(claim)) {
    findings.invalid(`${at}.name`, name, `PVC name ${JSON.stringify(claim)}: ${problem}`);
  }
}

/**
 * Validates the volumes of a pod, and returns the valid volume names. Containers can mount only volumes with valid
 * names.
 * @param podName The name of the pod, for the names of its claims.
 */
export function volumeFindings(findings: Findings, spec: Plain, path: string, podName = ''): Set<string> {
  const names = new Set<string>();
  const good = new Set<string>();
  for (const [index, volume] of items(spec, 'volumes').entries()) {
    const at = `${path}[${index}]`;
    const own = new Findings();
    const name = text(volume, 'name');
    const given = SOURCES.filter((type) => volume[type] !== undefined);
    for (const [position, type] of given.entries()) {
      if (position > 0) own.forbidden(`${at}.${SECOND_NAMES.get(type) ?? type}`, ONE_TYPE);
      else {
        sourceFindings(own, type, volume[type], at, { name, of: podName === '' ? 'template' : 'pod' });
        if (type === 'ephemeral') claimNameFindings(own, name, podName, at);
      }
    }
    if (given.length === 0) own.required(at, 'must specify a volume type');
    if (name === '') own.required(`${at}.name`);
    else own.problems(`${at}.name`, name, labelProblems(name));
    if (names.has(name)) own.duplicate(`${at}.name`, name);
    if (own.causes.length === 0) {
      names.add(name);
      good.add(name);
    }
    findings.add(own.causes);
  }
  return good;
}
