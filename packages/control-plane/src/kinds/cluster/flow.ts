import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelProblems, subdomainProblems } from '../../apimachinery/errors/names.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { child, items, look, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { conditionTypesCauses } from '../base/conditions.ts';
import { strategy, withStatus } from '../base/strategy.ts';

const MOST_PRECEDENCE = 10_000;
const SUBJECTS = ['Group', 'ServiceAccount', 'User'];
const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];
const METHODS = ['ByNamespace', 'ByUser'];

function subjectFindings(findings: Findings, subject: Plain, at: string): void {
  const kind = text(subject, 'kind');
  const parts: Readonly<Record<string, string>> = { ServiceAccount: 'serviceAccount', User: 'user', Group: 'group' };
  const own = parts[kind];
  if (own === undefined) {
    findings.oneOf(`${at}.kind`, kind, SUBJECTS);
    return;
  }
  for (const part of ['serviceAccount', 'user', 'group']) {
    const given = subject[part];
    if (part !== own && given !== undefined) {
      findings.forbidden(`${at}.${part}`, `${part} is forbidden when subject kind is not '${kindOf(part)}'`);
    }
  }
  const given = subject[own];
  if (!isRecord(given)) {
    findings.required(`${at}.${own}`, `${own} is required when subject kind is '${kind}'`);
    return;
  }
  const name = text(given, 'name');
  if (name === '') findings.required(`${at}.${own}.name`);
  else if (own === 'serviceAccount' && name !== '*')
    findings.problems(`${at}.${own}.name`, name, subdomainProblems(name));
  if (own !== 'serviceAccount') return;
  const namespace = text(given, 'namespace');
  if (namespace === '') findings.required(`${at}.${own}.namespace`, 'must specify namespace for service account');
  else findings.problems(`${at}.${own}.namespace`, namespace, labelProblems(namespace));
}

const NEEDED: Readonly<Record<string, string>> = {
  verbs: 'verbs must contain at least one value',
  apiGroups: 'resource rules must supply at least one api group',
  resources: 'resource rules must supply at least one resource',
  nonResourceURLs: 'nonResourceURLs must contain at least one value',
};

const kindOf = (part: string): string => part.charAt(0).toUpperCase() + part.slice(1);

function listFindings(findings: Findings, rule: Plain, field: string, at: string, known?: readonly string[]): void {
  const values = strings(rule, field);
  if (values.length === 0) findings.required(`${at}.${field}`, NEEDED[field] ?? '');
  else if (values.includes('*')) {
    if (values.length > 1) {
      findings.invalid(`${at}.${field}`, values, "if '*' is present, must not specify other " + wordOf(field));
    }
  } else if (known !== undefined && values.some((value) => !known.includes(value))) {
    findings.oneOf(`${at}.${field}`, values, known);
  }
}

const wordOf = (field: string): string =>
  field === 'verbs'
    ? 'verbs'
    : field === 'apiGroups'
      ? 'api groups'
      : field === 'resources'
        ? 'resources'
        : 'non-resource URLs';

function schemaCauses(object: ApiObject): StatusCause[] {
  const findings = new Findings();
  const spec = look(object, 'spec');
  const precedence = number(spec, 'matchingPrecedence') ?? 0;
  if (precedence <= 0) findings.invalid('spec.matchingPrecedence', precedence, 'must be a positive value');
  if (precedence > MOST_PRECEDENCE) {
    const why = `must not be greater than ${MOST_PRECEDENCE}`;
    findings.invalid('spec.matchingPrecedence', precedence, why);
  }
  if (precedence === 1 && object.metadata.name !== 'exempt') {
    findings.invalid(
      'spec.matchingPrecedence',
      precedence,
      "only the schema named 'exempt' may have matchingPrecedence 1",
    );
  }
  const { distinguisherMethod } = spec;
  if (isRecord(distinguisherMethod)) {
    const type = text(distinguisherMethod, 'type');
    if (!METHODS.includes(type)) findings.oneOf('spec.distinguisherMethod.type', { Type: type }, METHODS);
  }
  const level = text(look(spec, 'priorityLevelConfiguration'), 'name');
  if (level === '') findings.required('spec.priorityLevelConfiguration.name', 'must reference a priority level');
  else findings.problems('spec.priorityLevelConfiguration.name', level, subdomainProblems(level));
  for (const [index, rule] of items(spec, 'rules').entries()) {
    const at = `spec.rules[${index}]`;
    const subjects = items(rule, 'subjects');
    if (subjects.length === 0) findings.required(`${at}.subjects`, 'subjects must contain at least one value');
    for (const [position, subject] of subjects.entries())
      subjectFindings(findings, subject, `${at}.subjects[${position}]`);
    const [resources, urls] = [items(rule, 'resourceRules'), items(rule, 'nonResourceRules')];
    if (resources.length + urls.length === 0) {
      findings.required(at, 'at least one of resourceRules and nonResourceRules has to be non-empty');
    }
    for (const [position, one] of resources.entries()) {
      const here = `${at}.resourceRules[${position}]`;
      listFindings(findings, one, 'verbs', here, VERBS);
      listFindings(findings, one, 'apiGroups', here);
      listFindings(findings, one, 'resources', here);
      for (const [place, namespace] of strings(one, 'namespaces').entries()) {
        if (namespace === '*') continue;
        for (const problem of labelProblems(namespace)) {
          const why = `each member of this list must be '*' or a DNS-1123 label; ${problem}`;
          findings.invalid(`${here}.namespaces[${place}]`, namespace, why);
        }
      }
      if (strings(one, 'namespaces').length === 0 && one.clusterScope !== true) {
        findings.required(
          `${here}.namespaces`,
          'resource rules that are not cluster scoped must supply at least one namespace',
        );
      }
    }
    for (const [position, one] of urls.entries()) {
      const here = `${at}.nonResourceRules[${position}]`;
      listFindings(findings, one, 'verbs', here, VERBS);
      listFindings(findings, one, 'nonResourceURLs', here);
      for (const [place, url] of strings(one, 'nonResourceURLs').entries()) {
        const field = `${here}.nonResourceURLs[${place}]`;
        if (url === '') findings.invalid(field, url, 'must not be empty');
        else if (url !== '*' && !url.startsWith('/')) findings.invalid(field, url, 'must start with slash');
      }
    }
  }
  return findings.causes;
}

export const flowSchemaStrategy = strategy({
  setDefaults: (object) => {
    const spec = child(object, 'spec');
    if ((number(spec, 'matchingPrecedence') ?? 0) === 0) spec.matchingPrecedence = 1000;
  },
  prepareForCreate: withStatus(),
  causes: schemaCauses,
  statusCauses: ({ status }) => conditionTypesCauses(status),
});

function levelCauses(object: ApiObject): StatusCause[] {
  const findings = new Findings();
  const spec = look(object, 'spec');
  const type = text(spec, 'type');
  const { limited, exempt } = spec;
  if (type === 'Exempt') {
    if (limited !== undefined) findings.forbidden('spec.limited', 'must be nil if the type is not Limited');
    return findings.causes;
  }
  if (type !== 'Limited') {
    findings.oneOf('spec.type', type, ['Exempt', 'Limited'], true);
    return findings.causes;
  }
  if (exempt !== undefined) findings.forbidden('spec.exempt', 'must be nil if the type is Limited');
  if (!isRecord(limited)) {
    findings.required('spec.limited', 'must not be empty when type is Limited');
    return findings.causes;
  }
  const at = 'spec.limited';
  const shares = number(limited, 'nominalConcurrencyShares') ?? 0;
  if (shares < 0) findings.invalid(`${at}.nominalConcurrencyShares`, shares, 'must be a non-negative integer');
  const response = look(limited, 'limitResponse');
  const answer = text(response, 'type');
  const { queuing } = response;
  if (answer === 'Reject') {
    if (queuing !== undefined)
      findings.forbidden(`${at}.limitResponse.queuing`, 'must be nil if limited.limitResponse.type is not Limited');
  } else if (answer === 'Queue') {
    if (!isRecord(queuing)) {
      findings.required(`${at}.limitResponse.queuing`, 'must not be empty if limited.limitResponse.type is Limited');
    } else queueFindings(findings, queuing, `${at}.limitResponse.queuing`);
  } else findings.oneOf(`${at}.limitResponse.type`, answer, ['Queue', 'Reject'], true);
  const lendable = number(limited, 'lendablePercent');
  if (lendable !== undefined && (lendable < 0 || lendable > 100)) {
    findings.invalid(`${at}.lendablePercent`, lendable, 'must be between 0 and 100, inclusive');
  }
  const borrowing = number(limited, 'borrowingLimitPercent') ?? 0;
  if (borrowing < 0) {
    findings.invalid(`${at}.borrowingLimitPercent`, borrowing, 'if specified, must be a non-negative integer');
  }
  return findings.causes;
}

const MOST_BITS = 60;
const MOST_QUEUES = 10_000_000;

function queueFindings(findings: Findings, queuing: Plain, at: string): void {
  const [length, queues, hand] = ['queueLengthLimit', 'queues', 'handSize'].map((field) => number(queuing, field) ?? 0);
  if ((length ?? 0) <= 0) findings.invalid(`${at}.queueLengthLimit`, length, 'must be positive');
  if ((queues ?? 0) <= 0) findings.invalid(`${at}.queues`, queues, 'must be positive');
  else if ((queues ?? 0) > MOST_QUEUES) {
    findings.invalid(`${at}.queues`, queues, `must not be greater than ${MOST_QUEUES}`);
  }
  if ((hand ?? 0) <= 0) findings.invalid(`${at}.handSize`, hand, 'must be positive');
  else if ((hand ?? 0) > (queues ?? 0)) {
    findings.invalid(`${at}.handSize`, hand, `should not be greater than queues (${queues})`);
  } else if (Math.ceil(Math.log2(queues ?? 1) * (hand ?? 0)) > MOST_BITS) {
    const what = `deckSize ${queues} and handSize ${hand}`;
    const why = `required entropy bits of ${what} should not be greater than ${MOST_BITS}`;
    findings.invalid(`${at}.handSize`, hand, why);
  }
}

export const priorityLevelStrategy = strategy({
  setDefaults(object) {
    const spec = child(object, 'spec');
    const { limited, exempt } = spec;
    if (isRecord(exempt)) {
      exempt.nominalConcurrencyShares ??= 0;
      exempt.lendablePercent ??= 0;
    }
    if (!isRecord(limited)) return;
    limited.nominalConcurrencyShares ??= 30;
    limited.lendablePercent ??= 0;
    const queuing = look(limited, 'limitResponse').queuing;
    if (!isRecord(queuing)) return;
    for (const [field, value] of Object.entries({ handSize: 8, queues: 64, queueLengthLimit: 50 })) {
      if ((queuing[field] ?? 0) === 0) queuing[field] = value;
    }
  },
  prepareForCreate: withStatus(),
  causes: levelCauses,
  statusCauses: ({ status }) => conditionTypesCauses(status),
});
