import { Findings } from '../../../apimachinery/errors/findings.ts';
import { labelProblems, subdomainProblems } from '../../../apimachinery/errors/names.ts';
import { items, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { sourceFindings } from './volume-sources.ts';

/** Sources in the order in which the server looks at them. */
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
/** The refusal of a second source. */
export const ONE_TYPE = 'may not specify more than 1 volume type';

/** The names of second sources in errors, where the real server has its own spelling. */
export const SECOND_NAMES: ReadonlyMap<string, string> = new Map([
  ['cephfs', 'cephFS'],
  ['downwardAPI', 'downwarAPI'],
]);

/** The claim of an ephemeral volume is named after its pod and the volume. */
function claimNameFindings(findings: Findings, name: string, podName: string, at: string): void {
  if (podName === '' || name === '') return;
  const claim = `${podName}-${name}`;
  for (const problem of subdomainProblems(claim)) {
    findings.invalid(`${at}.name`, name, `PVC name ${JSON.stringify(claim)}: ${problem}`);
  }
}

/**
 * Rules of a pod's volumes. Returns the names of valid volumes, which can be mounted.
 * @param podName of a pod, not of a template: claims are named after it
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
