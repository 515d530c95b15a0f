import { Findings } from '../../../apimachinery/errors/findings.ts';
import { subdomainProblems } from '../../../apimachinery/errors/names.ts';
import { isPlain, items, look, number, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { quantityNanos } from '../../../apimachinery/objects/quantity.ts';
import { backstepProblems, labelProblems, volumePathProblems } from '../../base/formats.ts';
import { claimSpecFindings } from './claim.ts';
import { fieldRefFindings, resourceRefFindings, VOLUME_FIELDS } from './references.ts';

const FILE_MODE = 'must be a number between 0 and 0777 (octal), both inclusive';
const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];
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
  'azureDisk',
  'photonPersistentDisk',
  'portworxVolume',
  'projected',
  'scaleIO',
  'storageos',
  'csi',
  'ephemeral',
  'image',
];
const MIN_TOKEN_SECONDS = 600;
const MAX_TOKEN_SECONDS = 2 ** 32;

function fileMode(findings: Findings, field: string, mode: number | undefined): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) findings.invalid(field, mode, FILE_MODE);
}

function needed(findings: Findings, holder: Plain, at: string, ...fields: readonly string[]): void {
  for (const field of fields) if (text(holder, field) === '') findings.required(`${at}.${field}`);
}

function keyToPath(findings: Findings, item: Plain, at: string): void {
  needed(findings, item, at, 'key', 'path');
  const path = text(item, 'path');
  findings.problems(`${at}.path`, path, volumePathProblems(path));
  fileMode(findings, `${at}.mode`, number(item, 'mode'));
}

function downwardFile(findings: Findings, file: Plain, at: string): void {
  needed(findings, file, at, 'path');
  const path = text(file, 'path');
  findings.problems(`${at}.path`, path, volumePathProblems(path));
  const { fieldRef, resourceFieldRef } = file;
  if (isPlain(fieldRef)) {
    fieldRefFindings(findings, fieldRef, `${at}.fieldRef`, VOLUME_FIELDS);
    if (isPlain(resourceFieldRef)) {
      findings.invalid(at, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
    }
  } else if (isPlain(resourceFieldRef)) {
    resourceRefFindings(findings, resourceFieldRef, `${at}.resourceFieldRef`, true);
  } else findings.required(at, 'one of fieldRef and resourceFieldRef is required');
  fileMode(findings, `${at}.mode`, number(file, 'mode'));
}

function projected(findings: Findings, volume: Plain, at: string): void {
  fileMode(findings, `${at}.defaultMode`, number(volume, 'defaultMode'));
  const paths = new Set<string>();
  const once = (path: string, shown: string): void => {
    if (path === '') return;
    if (paths.has(path)) findings.invalid(at, shown, 'conflicting duplicate paths');
    paths.add(path);
  };
  for (const [index, source] of items(volume, 'sources').entries()) {
    const here = `${at}.sources[${index}]`;
    for (const kind of ['secret', 'configMap']) {
      const from = source[kind];
      if (!isPlain(from)) continue;
      needed(findings, from, `${here}.${kind}`, 'name');
      for (const [position, item] of items(from, 'items').entries()) {
        keyToPath(findings, item, `${here}.${kind}.items[${position}]`);
        once(text(item, 'path'), text(from, 'name'));
      }
    }
    if (isPlain(source.downwardAPI)) {
      for (const file of items(source.downwardAPI, 'items')) {
        downwardFile(findings, file, `${here}.downwardAPI`);
        once(text(file, 'path'), text(file, 'path'));
      }
    }
    const token = source.serviceAccountToken;
    if (isPlain(token)) {
      const field = `${here}.serviceAccountToken.expirationSeconds`;
      const seconds = number(token, 'expirationSeconds') ?? 0;
      if (seconds < MIN_TOKEN_SECONDS) {
        findings.invalid(field, seconds, 'may not specify a duration less than 10 minutes');
      }
      if (seconds > MAX_TOKEN_SECONDS) {
        findings.invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds');
      }
      const path = text(token, 'path');
      if (path === '') findings.required(`${at}.path`);
      else findings.problems(`${at}.path`, path, volumePathProblems(path));
    }
    if (Object.keys(source).length > 1) {
      findings.forbidden(here, 'may not specify more than 1 volume type per source');
    }
  }
}

function iscsi(findings: Findings, source: Plain, at: string): void {
  if (text(source, 'targetPortal') === '') findings.required(`${at}.targetPortal`);
  const iqn = text(source, 'iqn');
  if (iqn === '') findings.required(`${at}.iqn`);
  else if (!/^(iqn|eui|naa)/.test(iqn)) {
    findings.invalid(`${at}.iqn`, iqn, 'must be valid format starting with iqn, eui, or naa');
  } else if (
    (iqn.startsWith('iqn') && !/iqn\.\d{4}-\d{2}\.([a-zA-Z0-9\-.]+)(:[^,;*&$|\s]+)$/.test(iqn)) ||
    (iqn.startsWith('eui') && !/^eui.[a-zA-Z0-9]{16}$/.test(iqn)) ||
    (iqn.startsWith('naa') && !/^naa.[a-zA-Z0-9]{32}$/.test(iqn))
  ) {
    findings.invalid(`${at}.iqn`, iqn, 'must be valid format');
  }
  const lun = number(source, 'lun') ?? 0;
  if (lun < 0 || lun > 255) findings.invalid(`${at}.lun`, lun, 'must be between 0 and 255, inclusive');
}

const MAX_DRIVER = 63;

/** The name of a CSI driver. */
export function driverFindings(findings: Findings, driver: string, at: string): void {
  if (driver === '') findings.required(at);
  if (driver.length > MAX_DRIVER) findings.tooLong(at, MAX_DRIVER);
  findings.problems(at, driver, driver === '' ? [] : subdomainProblems(driver.toLowerCase()));
}

/** An address with its port; one of the sixth version is in brackets. */
const HOST_AND_PORT = /^(?:[^:[\]]*|\[[^[\]]*\]):[^:]*$/;

type SourceRule = (findings: Findings, source: Plain, at: string) => void;

const withFiles =
  (name: string): SourceRule =>
  (findings, source, at) => {
    if (text(source, name) === '') findings.required(`${at}.${name}`);
    fileMode(findings, `${at}.defaultMode`, number(source, 'defaultMode'));
    for (const [index, item] of items(source, 'items').entries()) keyToPath(findings, item, `${at}.items[${index}]`);
  };

const RULES: Readonly<Record<string, SourceRule>> = {
  emptyDir(findings, source, at) {
    const limit = source.sizeLimit;
    if (limit !== undefined && quantityNanos(limit) < 0n) {
      findings.forbidden(`${at}.sizeLimit`, 'SizeLimit field must be a valid resource quantity');
    }
  },
  hostPath(findings, source, at) {
    const path = text(source, 'path');
    if (path === '') findings.required(`${at}.path`);
    findings.problems(`${at}.path`, path, backstepProblems(path));
    if (source.type !== undefined) findings.oneOf(`${at}.type`, source.type, HOST_PATH_TYPES);
  },
  secret: withFiles('secretName'),
  configMap: withFiles('name'),
  nfs(findings, source, at) {
    needed(findings, source, at, 'server', 'path');
    const path = text(source, 'path');
    if (!path.startsWith('/')) findings.invalid(`${at}.path`, path, 'must be an absolute path');
  },
  iscsi,
  persistentVolumeClaim: (findings, source, at) => needed(findings, source, at, 'claimName'),
  downwardAPI(findings, source, at) {
    fileMode(findings, `${at}.defaultMode`, number(source, 'defaultMode'));
    for (const file of items(source, 'items')) downwardFile(findings, file, at);
  },
  projected,
  csi(findings, source, at) {
    driverFindings(findings, text(source, 'driver'), `${at}.driver`);
    const secret = source.nodePublishSecretRef;
    if (!isPlain(secret)) return;
    const name = text(secret, 'name');
    if (name === '') findings.required(`${at}.nodePublishSecretRef.name`);
    else findings.problems(`${at}.name`, name, subdomainProblems(name));
  },
  ephemeral(findings, source, at) {
    const template = source.volumeClaimTemplate;
    if (!isPlain(template)) findings.required(`${at}.volumeClaimTemplate`);
    else claimSpecFindings(findings, look(template, 'spec'), `${at}.volumeClaimTemplate.spec`);
  },
  gitRepo: (findings, source, at) => needed(findings, source, at, 'repository'),
  glusterfs: (findings, source, at) => needed(findings, source, at, 'endpoints', 'path'),
  cinder: (findings, source, at) => needed(findings, source, at, 'volumeID'),
  rbd: (findings, source, at) => needed(findings, source, at, 'image'),
  azureFile: (findings, source, at) => needed(findings, source, at, 'secretName', 'shareName'),
  awsElasticBlockStore: (findings, source, at) => needed(findings, source, at, 'volumeID'),
  gcePersistentDisk: (findings, source, at) => needed(findings, source, at, 'pdName'),
  quobyte(findings, source, at) {
    const registry = text(source, 'registry');
    const why = 'must be a host:port pair or multiple pairs separated by commas';
    if (registry === '') findings.required(`${at}.registry`, why);
    else if (text(source, 'tenant').length > 64) {
      findings.required(`${at}.tenant`, 'must be a UUID and may not exceed a length of 64 characters');
    } else {
      for (const pair of registry.split(',')) {
        if (!HOST_AND_PORT.test(pair)) findings.invalid(`${at}.registry`, registry, why);
      }
    }
    needed(findings, source, at, 'volume');
  },
  storageos(findings, source, at) {
    for (const field of ['volumeName', 'volumeNamespace']) {
      const name = text(source, field);
      if (name !== '') findings.problems(`${at}.${field}`, name, labelProblems(name));
      else if (field === 'volumeName') findings.required(`${at}.${field}`);
    }
    if (isPlain(source.secretRef)) needed(findings, source.secretRef, `${at}.secretRef`, 'name');
  },
  flocker(findings, source, at) {
    const [name, uuid] = [text(source, 'datasetName'), text(source, 'datasetUUID')];
    if (name === '' && uuid === '') findings.required(at, 'one of datasetName and datasetUUID is required');
    if (name !== '' && uuid !== '') {
      findings.invalid(at, 'resource', 'datasetName and datasetUUID can not be specified simultaneously');
    }
    if (name.includes('/')) findings.invalid(`${at}.datasetName`, name, "must not contain '/'");
  },
  vsphereVolume: (findings, source, at) => needed(findings, source, at, 'volumePath'),
};

/** Rules of one source of a volume, of a pod or a persistent one. */
export function sourceFindings(findings: Findings, name: string, source: unknown, at: string): void {
  if (isPlain(source)) RULES[name]?.(findings, source, `${at}.${name}`);
}

/** The claim of an ephemeral volume is named after its pod and the volume. */
function claimNameFindings(findings: Findings, name: string, podName: string, at: string): void {
  if (podName === '' || name === '') return;
  const claim = `${podName}-${name}`;
  for (const problem of subdomainProblems(claim)) {
    findings.invalid(`${at}.name`, name, `PVC name ${JSON.stringify(claim)}: ${problem}`);
  }
}

/**
 * Rules of a pod's volumes. Returns the names of those that are good enough to be mounted.
 * @param podName of a pod, not of a template: claims are named after it
 */
export function volumeFindings(findings: Findings, spec: Plain, path: string, podName = ''): Set<string> {
  const names = new Set<string>();
  const good = new Set<string>();
  for (const [index, volume] of items(spec, 'volumes').entries()) {
    const at = `${path}[${index}]`;
    const own = new Findings();
    const given = SOURCES.filter((name) => volume[name] !== undefined);
    for (const [position, name] of given.entries()) {
      if (position === 0) {
        sourceFindings(own, name, volume[name], at);
        if (name === 'ephemeral') claimNameFindings(own, text(volume, 'name'), podName, at);
        // The real server's own spelling.
      } else
        own.forbidden(`${at}.${name.replace('downwardAPI', 'downwarAPI')}`, 'may not specify more than 1 volume type');
    }
    if (given.length === 0) own.required(at, 'must specify a volume type');
    const name = text(volume, 'name');
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
