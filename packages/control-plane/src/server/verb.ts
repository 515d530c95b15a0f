import type { ServerRequest } from '../apimachinery/http/exchange.ts';
import { isTrue } from '../resources/options.ts';
import type { RequestInfo } from './request-info.ts';

export function verbOf(request: ServerRequest, info: RequestInfo): string {
  switch (request.method) {
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return info.name === '' ? 'deletecollection' : 'delete';
    case 'GET':
    case 'HEAD': {
      if (info.watchPrefix || isTrue(request.query.get('watch'))) return 'watch';
      return info.name === '' ? 'list' : 'get';
    }
    default:
      // For the methods OPTIONS, CONNECT and TRACE, no verb exists.
      return '';
  }
}
