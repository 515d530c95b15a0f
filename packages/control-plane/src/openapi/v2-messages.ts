export type FieldType = 'string' | 'bool' | 'double' | 'int64' | 'any' | MessageName;

export interface Field {
  readonly number: number;
  readonly type: FieldType;
  readonly repeated: boolean;
}

/** Members whose names start with `x-` belong to the field `extensions`. */
export interface Struct {
  readonly fields: Readonly<Record<string, Field>>;
  readonly extensions?: number;
}

interface Pairs {
  readonly pairs: Field;
  readonly extensions?: number;
}

interface OneOf {
  readonly pick: (value: unknown) => Field;
}

interface Wrapper {
  readonly wraps: Field;
}

export type Message = Struct | Pairs | OneOf | Wrapper;

const one = (number: number, type: FieldType): Field => ({ number, type, repeated: false });
const many = (number: number, type: FieldType): Field => ({ number, type, repeated: true });
const pairs = (type: FieldType, number = 1): Pairs => ({ pairs: many(number, type) });

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
const isReference = (value: unknown): boolean => member(value, '$ref') !== undefined;

/** Returns the fields of a simple value. */
function primitive(first: number): Record<string, Field> {
  const types: Readonly<Record<string, FieldType>> = {
    type: 'string',
    format: 'string',
    items: 'PrimitivesItems',
    collectionFormat: 'string',
    default: 'any',
    maximum: 'double',
    exclusiveMaximum: 'bool',
    minimum: 'double',
    exclusiveMinimum: 'bool',
    maxLength: 'int64',
    minLength: 'int64',
    pattern: 'string',
    maxItems: 'int64',
    minItems: 'int64',
    uniqueItems: 'bool',
    enum: 'any',
    multipleOf: 'double',
  };
  const entries = Object.entries(types).map(
    ([name, type], at) => [name, { number: first + at, type, repeated: name === 'enum' }] as const,
  );
  return Object.fromEntries(entries);
}

const PARAMETER = {
  required: one(1, 'bool'),
  in: one(2, 'string'),
  description: one(3, 'string'),
  name: one(4, 'string'),
};
const parameter: Struct = { fields: { ...PARAMETER, ...primitive(5) }, extensions: 22 };
const emptyParameter: Struct = {
  fields: { ...PARAMETER, allowEmptyValue: one(5, 'bool'), ...primitive(6) },
  extensions: 23,
};

const PARAMETER_FORMS: Readonly<Record<string, Field>> = {
  header: one(1, 'HeaderParameterSubSchema'),
  formData: one(2, 'FormDataParameterSubSchema'),
  path: one(4, 'PathParameterSubSchema'),
};

const FLOWS: Readonly<Record<string, Field>> = {
  implicit: one(3, 'Oauth2ImplicitSecurity'),
  password: one(4, 'Oauth2PasswordSecurity'),
  application: one(5, 'Oauth2ApplicationSecurity'),
};

/** Returns the messages of OAuth security definitions. */
function oauth2(...urls: readonly string[]): Struct {
  const named = [...urls, 'description'].map((name, at) => [name, one(4 + at, 'string')] as const);
  return {
    fields: {
      type: one(1, 'string'),
      flow: one(2, 'string'),
      scopes: one(3, 'Oauth2Scopes'),
      ...Object.fromEntries(named),
    },
    extensions: 5 + urls.length,
  };
}

function securityForm(value: unknown): Field {
  const type = member(value, 'type');
  if (type === 'basic') return one(1, 'BasicAuthenticationSecurity');
  if (type === 'apiKey') return one(2, 'ApiKeySecurity');
  return FLOWS[String(member(value, 'flow'))] ?? one(6, 'Oauth2AccessCodeSecurity');
}

export type MessageName =
  | 'AdditionalPropertiesItem'
  | 'ApiKeySecurity'
  | 'BasicAuthenticationSecurity'
  | 'BodyParameter'
  | 'Contact'
  | 'Definitions'
  | 'Document'
  | 'Examples'
  | 'ExternalDocs'
  | 'FileSchema'
  | 'FormDataParameterSubSchema'
  | 'Header'
  | 'HeaderParameterSubSchema'
  | 'Headers'
  | 'Info'
  | 'ItemsItem'
  | 'JsonReference'
  | 'License'
  | 'NonBodyParameter'
  | 'Oauth2AccessCodeSecurity'
  | 'Oauth2ApplicationSecurity'
  | 'Oauth2ImplicitSecurity'
  | 'Oauth2PasswordSecurity'
  | 'Oauth2Scopes'
  | 'Operation'
  | 'Parameter'
  | 'ParameterDefinitions'
  | 'ParametersItem'
  | 'PathItem'
  | 'PathParameterSubSchema'
  | 'Paths'
  | 'PrimitivesItems'
  | 'Properties'
  | 'QueryParameterSubSchema'
  | 'Response'
  | 'ResponseDefinitions'
  | 'ResponseValue'
  | 'Responses'
  | 'Schema'
  | 'SchemaItem'
  | 'SecurityDefinitions'
  | 'SecurityDefinitionsItem'
  | 'SecurityRequirement'
  | 'StringArray'
  | 'Tag'
  | 'TypeItem'
  | 'Xml';

export const MESSAGES: Readonly<Record<MessageName, Message>> = {
  AdditionalPropertiesItem: {
    pick: (value) => (typeof value === 'boolean' ? one(2, 'bool') : one(1, 'Schema')),
  },
  ApiKeySecurity: {
    fields: {
      type: one(1, 'string'),
      name: one(2, 'string'),
      in: one(3, 'string'),
      description: one(4, 'string'),
    },
    extensions: 5,
  },
  BasicAuthenticationSecurity: {
    fields: { type: one(1, 'string'), description: one(2, 'string') },
    extensions: 3,
  },
  BodyParameter: {
    fields: {
      description: one(1, 'string'),
      name: one(2, 'string'),
      in: one(3, 'string'),
      required: one(4, 'bool'),
      schema: one(5, 'Schema'),
    },
    extensions: 6,
  },
  Contact: {
    fields: { name: one(1, 'string'), url: one(2, 'string'), email: one(3, 'string') },
    extensions: 4,
  },
  Definitions: pairs('Schema'),
  Document: {
    fields: {
      swagger: one(1, 'string'),
      info: one(2, 'Info'),
      host: one(3, 'string'),
      basePath: one(4, 'string'),
      schemes: many(5, 'string'),
      consumes: many(6, 'string'),
      produces: many(7, 'string'),
      paths: one(8, 'Paths'),
      definitions: one(9, 'Definitions'),
      parameters: one(10, 'ParameterDefinitions'),
      responses: one(11, 'ResponseDefinitions'),
      security: many(12, 'SecurityRequirement'),
      securityDefinitions: one(13, 'SecurityDefinitions'),
      tags: many(14, 'Tag'),
      externalDocs: one(15, 'ExternalDocs'),
    },
    extensions: 16,
  },
  Examples: pairs('any'),
  ExternalDocs: { fields: { description: one(1, 'string'), url: one(2, 'string') }, extensions: 3 },
  FileSchema: {
    fields: {
      format: one(1, 'string'),
      title: one(2, 'string'),
      description: one(3, 'string'),
      default: one(4, 'any'),
      required: many(5, 'string'),
      type: one(6, 'string'),
      readOnly: one(7, 'bool'),
      externalDocs: one(8, 'ExternalDocs'),
      example: one(9, 'any'),
    },
    extensions: 10,
  },
  FormDataParameterSubSchema: emptyParameter,
  Header: { fields: { ...primitive(1), description: one(18, 'string') }, extensions: 19 },
  HeaderParameterSubSchema: parameter,
  Headers: pairs('Header'),
  Info: {
    fields: {
      title: one(1, 'string'),
      version: one(2, 'string'),
      description: one(3, 'string'),
      termsOfService: one(4, 'string'),
      contact: one(5, 'Contact'),
      license: one(6, 'License'),
    },
    extensions: 7,
  },
  ItemsItem: { wraps: many(1, 'Schema') },
  JsonReference: { fields: { $ref: one(1, 'string'), description: one(2, 'string') } },
  License: { fields: { name: one(1, 'string'), url: one(2, 'string') }, extensions: 3 },
  NonBodyParameter: {
    pick: (value) => PARAMETER_FORMS[String(member(value, 'in'))] ?? one(3, 'QueryParameterSubSchema'),
  },
  Oauth2AccessCodeSecurity: oauth2('authorizationUrl', 'tokenUrl'),
  Oauth2ApplicationSecurity: oauth2('tokenUrl'),
  Oauth2ImplicitSecurity: oauth2('authorizationUrl'),
  Oauth2PasswordSecurity: oauth2('tokenUrl'),
  Oauth2Scopes: pairs('string'),
  Operation: {
    fields: {
      tags: many(1, 'string'),
      summary: one(2, 'string'),
      description: one(3, 'string'),
      externalDocs: one(4, 'ExternalDocs'),
      operationId: one(5, 'string'),
      produces: many(6, 'string'),
      consumes: many(7, 'string'),
      parameters: many(8, 'ParametersItem'),
      responses: one(9, 'Responses'),
      schemes: many(10, 'string'),
      deprecated: one(11, 'bool'),
      security: many(12, 'SecurityRequirement'),
    },
    extensions: 13,
  },
  Parameter: {
    pick: (value) => (member(value, 'in') === 'body' ? one(1, 'BodyParameter') : one(2, 'NonBodyParameter')),
  },
  ParameterDefinitions: pairs('Parameter'),
  ParametersItem: { pick: (value) => (isReference(value) ? one(2, 'JsonReference') : one(1, 'Parameter')) },
  PathItem: {
    fields: {
      $ref: one(1, 'string'),
      get: one(2, 'Operation'),
      put: one(3, 'Operation'),
      post: one(4, 'Operation'),
      delete: one(5, 'Operation'),
      options: one(6, 'Operation'),
      head: one(7, 'Operation'),
      patch: one(8, 'Operation'),
      parameters: many(9, 'ParametersItem'),
    },
    extensions: 10,
  },
  PathParameterSubSchema: parameter,
  Paths: { ...pairs('PathItem', 2), extensions: 1 },
  PrimitivesItems: { fields: primitive(1), extensions: 18 },
  Properties: pairs('Schema'),
  QueryParameterSubSchema: emptyParameter,
  Response: {
    fields: {
      description: one(1, 'string'),
      schema: one(2, 'SchemaItem'),
      headers: one(3, 'Headers'),
      examples: one(4, 'Examples'),
    },
    extensions: 5,
  },
  ResponseDefinitions: pairs('Response'),
  ResponseValue: { pick: (value) => (isReference(value) ? one(2, 'JsonReference') : one(1, 'Response')) },
  Responses: { ...pairs('ResponseValue'), extensions: 2 },
  Schema: {
    fields: {
      $ref: one(1, 'string'),
      format: one(2, 'string'),
      title: one(3, 'string'),
      description: one(4, 'string'),
      default: one(5, 'any'),
      multipleOf: one(6, 'double'),
      maximum: one(7, 'double'),
      exclusiveMaximum: one(8, 'bool'),
      minimum: one(9, 'double'),
      exclusiveMinimum: one(10, 'bool'),
      maxLength: one(11, 'int64'),
      minLength: one(12, 'int64'),
      pattern: one(13, 'string'),
      maxItems: one(14, 'int64'),
      minItems: one(15, 'int64'),
      uniqueItems: one(16, 'bool'),
      maxProperties: one(17, 'int64'),
      minProperties: one(18, 'int64'),
      required: many(19, 'string'),
      enum: many(20, 'any'),
      additionalProperties: one(21, 'AdditionalPropertiesItem'),
      type: one(22, 'TypeItem'),
      items: one(23, 'ItemsItem'),
      allOf: many(24, 'Schema'),
      properties: one(25, 'Properties'),
      discriminator: one(26, 'string'),
      readOnly: one(27, 'bool'),
      xml: one(28, 'Xml'),
      externalDocs: one(29, 'ExternalDocs'),
      example: one(30, 'any'),
    },
    extensions: 31,
  },
  SchemaItem: { pick: (value) => (member(value, 'type') === 'file' ? one(2, 'FileSchema') : one(1, 'Schema')) },
  SecurityDefinitions: pairs('SecurityDefinitionsItem'),
  SecurityDefinitionsItem: { pick: securityForm },
  SecurityRequirement: pairs('StringArray'),
  StringArray: { wraps: many(1, 'string') },
  Tag: {
    fields: { name: one(1, 'string'), description: one(2, 'string'), externalDocs: one(3, 'ExternalDocs') },
    extensions: 4,
  },
  TypeItem: { wraps: many(1, 'string') },
  Xml: {
    fields: {
      name: one(1, 'string'),
      namespace: one(2, 'string'),
      prefix: one(3, 'string'),
      attribute: one(4, 'bool'),
      wrapped: one(5, 'bool'),
    },
    extensions: 6,
  },
};
