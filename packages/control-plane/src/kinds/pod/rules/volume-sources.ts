import type { Findings } from '../../../apimachinery/errors/findings.ts';
import { labelProblems, subdomainProblems } from '../../../apimachinery/errors/names.ts';
import { isRecord } from '../../../apimachinery/objects/json-value.ts';
import { items, look, number, type Plain, strings, text } from '../../../apimachinery/objects/plain.ts';
import { quantityNanos } from '../../../apimachinery/objects/quantity.ts';
import { backstepProblems, descendingPathProblems, volumePathProblems } from '../../base/formats.ts';
import { templateMetadataFindings } from '../../base/template-metadata.ts';
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
  if (isRecord(fieldRef)) {
    fieldRefFindings(findings, fieldRef, `${at}.fieldRef`, VOLUME_FIELDS);
    if (isRecord(resourceFieldRef)) {
      findings.invalid(at, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
    }
  } else if (isRecord(resourceFieldRef)) {
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
      if (!isRecord(from)) continue;
      needed(findings, from, `${here}.${kind}`, 'name');
      for (const [position, item] of items(from, 'items').entries()) {
        keyToPath(findings, item, `${here}.${kind}.items[${position}]`);
        once(text(item, 'path'), text(from, 'name'));
      }
    }
    if (isRecord(source.downwardAPI)) {
      for (const file of items(source.downwardAPI, 'items')) {
        downwardFile(findings, file, `${here}.downwardAPI`);
        once(text(file, 'path'), text(file, 'path'));
      }
    }
    const token = source.serviceAccountToken;
    if (isRecord(token)) {
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

const MAX_DRIVER = 63;

export function driverFindings(findings: Findings, driver: string, at: string): void {
  if (driver === '') findings.required(at);
  if (driver.length > MAX_DRIVER) findings.tooLong(at, MAX_DRIVER);
  findings.problems(at, driver, driver === '' ? [] : subdomainProblems(driver.toLowerCase()));
}

/** Matches an address with a port, such as `10.0.0.1:80` or `[::1]:80`. */
const HOST_AND_PORT = /^(?:[^:[\]]*|\[[^[\]]*\]):[^:]*$/;

export interface Volume {
  readonly name: string;
  readonly of: 'pod' | 'template' | 'persistentVolume';
}

type SourceRule = (findings: Findings, source: Plain, at: string, volume: Volume) => void;

const withFiles =
  (name: string): SourceRule =>
  (findings, source, at) => {
    if (text(source, name) === '') findings.required(`${at}.${name}`);
    fileMode(findings, `${at}.defaultMode`, number(source, 'defaultMode'));
    for (const [index, item] of items(source, 'items').entries()) keyToPath(findings, item, `${at}.items[${index}]`);
  };

const needs =
  (...fields: readonly string[]): SourceRule =>
  (findings, source, at) =>
    needed(findings, source, at, ...fields);

/** Validates a reference to a Secret. */
function secretRef(findings: Findings, source: Plain, at: string, ...fields: readonly string[]): void {
  if (isRecord(source.secretRef)) needed(findings, source.secretRef, `${at}.secretRef`, ...fields);
}

const IQN_FORMATS: readonly (readonly [start: string, format: RegExp])[] = [
  ['iqn', /iqn\.\d{4}-\d{2}\.([a-zA-Z0-9\-.]+)(:[^,;*&$|\s]+)$/],
  ['eui', /^eui.[a-zA-Z0-9]{16}$/],
  ['naa', /^naa.[a-zA-Z0-9]{32}$/],
];

function iqnFindings(findings: Findings, iqn: string, at: string, unknown: string): void {
  const format = IQN_FORMATS.find(([start]) => iqn.startsWith(start))?.[1];
  if (format === undefined) findings.invalid(at, iqn, unknown);
  else if (!format.test(iqn)) findings.invalid(at, iqn, 'must be valid format');
}

const TOO_LONG =
  'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';

const iscsi =
  (persistent: boolean): SourceRule =>
  (findings, source, at, { name }) => {
    const portal = text(source, 'targetPortal');
    const unknown = `must be valid format${persistent ? '' : ' starting with iqn, eui, or naa'}`;
    if (portal === '') findings.required(`${at}.targetPortal`);
    const initiator = source.initiatorName;
    const isTooLong = initiator !== undefined && Buffer.byteLength(`${name}:${portal}`) > 64;
    if (isTooLong && persistent) findings.invalid(`${at}.targetportal`, portal, TOO_LONG);
    const iqn = text(source, 'iqn');
    if (iqn === '') findings.required(`${at}.iqn`);
    else iqnFindings(findings, iqn, `${at}.iqn`, unknown);
    lunFindings(findings, number(source, 'lun') ?? 0, at);
    const isGuarded = source.chapAuthDiscovery === true || source.chapAuthSession === true;
    if (isGuarded && source.secretRef === undefined) findings.required(`${at}.secretRef`);
    if (persistent) secretRef(findings, source, at, 'name');
    if (typeof initiator === 'string') iqnFindings(findings, initiator, `${at}.initiatorname`, unknown);
    if (isTooLong && !persistent) findings.invalid(at.replace(/iscsi$/, 'name'), name, TOO_LONG);
  };

function lunFindings(findings: Findings, lun: number, at: string): void {
  if (lun < 0 || lun > 255) findings.invalid(`${at}.lun`, lun, 'must be between 0 and 255, inclusive');
}

/** As in kube-apiserver, partition 0 is valid, although the error message excludes 0. */
const disk =
  (id: string): SourceRule =>
  (findings, source, at) => {
    needed(findings, source, at, id);
    const partition = number(source, 'partition') ?? 0;
    if (partition < 0 || partition > 255) {
      findings.invalid(`${at}.partition`, partition, 'must be between 1 and 255, inclusive');
    }
  };

const ceph =
  (...fields: readonly string[]): SourceRule =>
  (findings, source, at) => {
    if (strings(source, 'monitors').length === 0) findings.required(`${at}.monitors`);
    needed(findings, source, at, ...fields);
  };

const RESERVED_NAMESPACE = /\.(kubernetes|k8s)\.io$/;
const MANAGED_DISK = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const BLOB_DISK = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';

function azureDisk(findings: Findings, source: Plain, at: string): void {
  needed(findings, source, at, 'diskName', 'diskURI');
  const { cachingMode, kind } = source;
  if (cachingMode !== undefined) findings.oneOf(`${at}.cachingMode`, cachingMode, ['None', 'ReadOnly', 'ReadWrite']);
  if (kind === undefined) return;
  findings.oneOf(`${at}.kind`, kind, ['Dedicated', 'Managed', 'Shared']);
  const uri = text(source, 'diskURI');
  const [start, form] = kind === 'Managed' ? ['/subscriptions/', MANAGED_DISK] : ['https://', BLOB_DISK];
  if (!uri.startsWith(start)) findings.oneOf(`${at}.diskURI`, uri, [form]);
}

const RULES: Readonly<Record<string, SourceRule>> = {
  emptyDir(findings, source, at) {
    const limit = source.sizeLimit;
    if (limit !== undefined && quantityNanos(limit) < 0n) {
      findings.forbidden(`${at}.sizeLimit`, 'SizeLimit field must be a valid resource quantity');
    }
  },
  hostPath(findings, source, at) {
    const path = text(source, 'path');
    if (path === '') {
      findings.required(`${at}.path`);
      return;
    }
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
  iscsi: iscsi(false),
  fc(findings, source, at) {
    const [names, ids] = [strings(source, 'targetWWNs'), strings(source, 'wwids')];
    const field = `${at}.targetWWNs`;
    if (names.length === 0 && ids.length === 0) {
      findings.required(field, 'must specify either targetWWNs or wwids, but not both');
    }
    if (names.length === 0) return;
    if (ids.length > 0) {
      findings.invalid(field, names, 'targetWWNs and wwids can not be specified simultaneously');
    }
    const lun = number(source, 'lun');
    if (lun === undefined) findings.required(`${at}.lun`, 'lun is required if targetWWNs is specified');
    else lunFindings(findings, lun, at);
  },
  persistentVolumeClaim: needs('claimName'),
  downwardAPI(findings, source, at) {
    fileMode(findings, `${at}.defaultMode`, number(source, 'defaultMode'));
    for (const file of items(source, 'items')) downwardFile(findings, file, at);
  },
  projected,
  csi(findings, source, at) {
    driverFindings(findings, text(source, 'driver'), `${at}.driver`);
    const secret = source.nodePublishSecretRef;
    if (!isRecord(secret)) return;
    const name = text(secret, 'name');
    if (name === '') findings.required(`${at}.nodePublishSecretRef.name`);
    else findings.problems(`${at}.name`, name, subdomainProblems(name));
  },
  ephemeral(findings, source, at) {
    const template = source.volumeClaimTemplate;
    if (!isRecord(template)) {
      findings.required(`${at}.volumeClaimTemplate`);
      return;
    }
    templateMetadataFindings(findings, look(template, 'metadata'), `${at}.volumeClaimTemplate.metadata`);
    claimSpecFindings(findings, look(template, 'spec'), `${at}.volumeClaimTemplate.spec`);
  },
  gitRepo(findings, source, at) {
    needed(findings, source, at, 'repository');
    const directory = text(source, 'directory');
    findings.problems(`${at}.directory`, directory, descendingPathProblems(directory));
  },
  glusterfs: needs('endpoints', 'path'),
  cinder(findings, source, at) {
    needed(findings, source, at, 'volumeID');
    secretRef(findings, source, at, 'name');
  },
  rbd: ceph('image'),
  cephfs: ceph(),
  flexVolume(findings, source, at) {
    needed(findings, source, at, 'driver');
    for (const key of Object.keys(look(source, 'options'))) {
      const [namespace = ''] = key.split('/');
      if (RESERVED_NAMESPACE.test(`.${namespace.toLowerCase()}`)) {
        findings.invalid(`${at}.options[${key}]`, key, 'kubernetes.io and k8s.io namespaces are reserved');
      }
    }
  },
  azureFile: needs('secretName', 'shareName'),
  azureDisk,
  awsElasticBlockStore: disk('volumeID'),
  gcePersistentDisk: disk('pdName'),
  quobyte(findings, source, at) {
    const registry = text(source, 'registry');
    const why = 'must be a host:port pair or multiple pairs separated by commas';
    if (registry === '') findings.required(`${at}.registry`, why);
    else if (Buffer.byteLength(text(source, 'tenant')) > 64) {
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
    secretRef(findings, source, at, 'name');
  },
  flocker(findings, source, at) {
    const [name, uuid] = [text(source, 'datasetName'), text(source, 'datasetUUID')];
    if (name === '' && uuid === '') findings.required(at, 'one of datasetName and datasetUUID is required');
    if (name !== '' && uuid !== '') {
      findings.invalid(at, 'resource', 'datasetName and datasetUUID can not be specified simultaneously');
    }
    if (name.includes('/')) findings.invalid(`${at}.datasetName`, name, "must not contain '/'");
  },
  image(findings, source, at, volume) {
    if (volume.of === 'pod') needed(findings, source, at, 'reference');
    findings.oneOf(`${at}.pullPolicy`, source.pullPolicy, ['Always', 'IfNotPresent', 'Never'], true);
  },
  vsphereVolume: needs('volumePath'),
  photonPersistentDisk: needs('pdID'),
  portworxVolume: needs('volumeID'),
  scaleIO: needs('gateway', 'system', 'volumeName'),
};

/**
 * The rules for sources of persistent volumes. References contain a namespace, because a persistent volume has none.
 */
const PERSISTENT_RULES: Readonly<Record<string, SourceRule>> = {
  ...RULES,
  iscsi: iscsi(true),
  glusterfs(findings, source, at, volume) {
    RULES.glusterfs?.(findings, source, at, volume);
    const namespace = source.endpointsNamespace;
    if (typeof namespace !== 'string') return;
    const field = `${at}.endpointsNamespace`;
    if (namespace !== '') findings.problems(field, namespace, labelProblems(namespace));
    else findings.invalid(field, namespace, 'if the endpointnamespace is set, it must be a valid namespace name');
  },
  cinder(findings, source, at, volume) {
    RULES.cinder?.(findings, source, at, volume);
    secretRef(findings, source, at, 'namespace');
  },
  storageos(findings, source, at, volume) {
    RULES.storageos?.(findings, source, at, volume);
    secretRef(findings, source, at, 'namespace');
  },
  azureFile(findings, source, at, volume) {
    RULES.azureFile?.(findings, source, at, volume);
    if (typeof source.secretNamespace === 'string') needed(findings, source, at, 'secretNamespace');
  },
};

export function sourceFindings(findings: Findings, type: string, source: unknown, at: string, volume: Volume): void {
  if (!isRecord(source)) return;
  const rules = volume.of === 'persistentVolume' ? PERSISTENT_RULES : RULES;
  // As in kube-apiserver, errors contain another name for the source `gcePersistentDisk`.
  const shown = type === 'gcePersistentDisk' ? 'persistentDisk' : type;
  rules[type]?.(findings, source, `${at}.${shown}`, volume);
}
